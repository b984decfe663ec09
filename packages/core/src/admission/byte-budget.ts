import type { ByteCount } from "../bytes/byte-count.js";

/** Bytes that one request holds. */
export interface TakenBytes extends ByteCount {
  /** Counts more bytes, unless they are more than the budget has left: then false, and nothing is counted. */
  add(bytes: number): boolean;
  /** Gives all back. A second time does nothing, and nothing is counted from then on. */
  giveBack(): void;
}

/** The bytes of all bodies that a gateway holds at a time. */
export interface ByteBudget {
  /** Counts the bytes of one more request; `undefined` when they are more than the budget has left. */
  take(bytes: number): TakenBytes | undefined;
  readonly inUse: number;
  /** The whole of it. */
  readonly maxBytes: number;
}

/** A budget of so many bytes. */
export function createByteBudget(maxBytes: number): ByteBudget {
  return new Budget(maxBytes);
}

class Budget implements ByteBudget {
  readonly maxBytes: number;
  inUse = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  take(bytes: number): TakenBytes | undefined {
    if (!this.hasRoom(bytes)) return undefined;
    const taken = new Taken(this);
    taken.addAnyway(bytes);
    return taken;
  }

  hasRoom(bytes: number): boolean {
    return this.inUse + bytes <= this.maxBytes;
  }
}

/** A class, as each request has one. */
class Taken implements TakenBytes {
  readonly #budget: Budget;
  #own = 0;
  #isGivenBack = false;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  add(bytes: number): boolean {
    if (this.#isGivenBack || !this.#budget.hasRoom(bytes)) return false;
    this.#count(bytes);
    return true;
  }

  addAnyway(bytes: number): void {
    if (!this.#isGivenBack) this.#count(bytes);
  }

  remove(bytes: number): void {
    if (!this.#isGivenBack) this.#count(-Math.min(bytes, this.#own));
  }

  giveBack(): void {
    this.#isGivenBack = true;
    this.#count(-this.#own);
  }

  #count(bytes: number): void {
    this.#own += bytes;
    this.#budget.inUse += bytes;
  }
}
