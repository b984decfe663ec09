import type { ByteCount } from "../util/held-bytes.js";

/** The options of a budget. */
export interface ByteBudgetParts {
  readonly maxBytes: number;
  /** Above 0, at most 1. */
  readonly maxCallerShare: number;
  readonly now: () => number;
}

/** Creates a budget without any bytes in use. */
export function createByteBudget(parts: ByteBudgetParts): ByteBudget {
  return new ByteBudget(parts);
}

/** How long a caller counts as waiting after a refusal. */
const WAIT_MS = 10_000;

/** The open requests of one caller and their bytes. */
interface CallerShare {
  readonly caller: string;
  bytes: number;
  /** Requests that are open. */
  requests: number;
  /** Requests whose bodies are arriving. */
  receiving: number;
}

/**
 * The bytes of all requests that a gateway holds at a time. Bytes count when they have arrived, not when they are
 * declared.
 *
 * One caller may hold all of the budget while no other caller waits, and else at most `maxCallerShare` of it. A caller
 * waits while a body of its arrives, and for 10 seconds after bytes of its were refused, unless others were accepted
 * since: clients repeat a 503 after a second.
 */
export class ByteBudget {
  /** The whole budget. */
  readonly maxBytes: number;
  inUse = 0;
  readonly #maxCallerBytes: number;
  readonly #now: () => number;
  /** Callers with open requests. */
  readonly #accounts = new Map<string, CallerShare>();
  /** Callers whose bodies are arriving. */
  #receivingCallers = 0;
  /** Callers whose bytes were refused, and the time until which they wait. */
  readonly #refused = new Map<string, number>();

  constructor({ maxBytes, maxCallerShare, now }: ByteBudgetParts) {
    this.maxBytes = maxBytes;
    this.#maxCallerBytes = maxBytes * maxCallerShare;
    this.#now = now;
  }

  /**
   * Opens the count of one request. Nothing is reserved.
   * @param expected bytes that the request says it will send
   * @returns `undefined` if they would not fit now
   */
  open(caller: string, expected: number): TakenBytes | undefined {
    const account = this.#accounts.get(caller) ?? { caller, bytes: 0, requests: 0, receiving: 0 };
    if (!this.accepts(account, expected)) return undefined;
    if (account.requests === 0) this.#accounts.set(caller, account);
    account.requests += 1;
    return new TakenBytes(this, account);
  }

  close(account: CallerShare): void {
    account.requests -= 1;
    if (account.requests === 0) this.#accounts.delete(account.caller);
  }

  /** Whether bytes fit. If they do not, the caller waits from now on. */
  accepts(account: CallerShare, bytes: number): boolean {
    if (this.#hasRoom(account, bytes)) return true;
    const now = this.#now();
    for (const [caller, until] of this.#refused) if (until <= now) this.#refused.delete(caller);
    this.#refused.set(account.caller, now + WAIT_MS);
    return false;
  }

  #hasRoom(account: CallerShare, bytes: number): boolean {
    if (this.inUse + bytes > this.maxBytes) return false;
    return account.bytes + bytes <= this.#maxCallerBytes || !this.#isAnotherWaiting(account);
  }

  count(account: CallerShare, bytes: number): void {
    account.bytes += bytes;
    this.inUse += bytes;
  }

  /** Bytes of the caller were accepted, so it no longer waits because of a refusal. */
  forgetRefusal({ caller }: CallerShare): void {
    if (this.#refused.size > 0) this.#refused.delete(caller);
  }

  changeReceiving(account: CallerShare, change: 1 | -1): void {
    const wasReceiving = account.receiving > 0;
    account.receiving += change;
    const isReceiving = account.receiving > 0;
    if (wasReceiving !== isReceiving) this.#receivingCallers += change;
  }

  #isAnotherWaiting({ caller, receiving }: CallerShare): boolean {
    if (this.#receivingCallers > (receiving > 0 ? 1 : 0)) return true;
    const now = this.#now();
    for (const [refused, until] of this.#refused) if (until > now && refused !== caller) return true;
    return false;
  }
}

/** Bytes that one request holds. */
export class TakenBytes implements ByteCount {
  readonly #budget: ByteBudget;
  readonly #account: CallerShare;
  /** The whole budget. */
  readonly maxBytes: number;
  #own = 0;
  #isReceiving = false;
  #isReleased = false;

  constructor(budget: ByteBudget, account: CallerShare) {
    this.maxBytes = budget.maxBytes;
    this.#budget = budget;
    this.#account = account;
  }

  /**
   * Counts more bytes if they fit. If they do not fit, returns false, counts nothing, and the caller waits: see
   * {@link ByteBudget}.
   */
  add(bytes: number): boolean {
    if (this.#isReleased || !this.#budget.accepts(this.#account, bytes)) return false;
    this.#budget.forgetRefusal(this.#account);
    this.#count(bytes);
    return true;
  }

  addAnyway(bytes: number): void {
    if (!this.#isReleased) this.#count(bytes);
  }

  remove(bytes: number): void {
    if (!this.#isReleased) this.#count(-Math.min(bytes, this.#own));
  }

  /**
   * Call when the request's body has begun to arrive and is not complete. The caller then waits, see {@link
   * ByteBudget}.
   */
  startReceiving(): void {
    if (this.#isReceiving || this.#isReleased) return;
    this.#isReceiving = true;
    this.#budget.changeReceiving(this.#account, 1);
  }

  /** Call when the body is complete or is not read any further. A second call does nothing. */
  finishReceiving(): void {
    if (!this.#isReceiving) return;
    this.#isReceiving = false;
    this.#budget.changeReceiving(this.#account, -1);
  }

  /** Releases all bytes of the request. After that, nothing is counted any more. A second call does nothing. */
  release(): void {
    if (this.#isReleased) return;
    this.finishReceiving();
    this.#isReleased = true;
    this.#count(-this.#own);
    this.#budget.close(this.#account);
  }

  #count(bytes: number): void {
    this.#own += bytes;
    this.#budget.count(this.#account, bytes);
  }
}
