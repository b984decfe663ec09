import type { Hold, HoldEnd } from "./hold.js";
import type { Outcome, SentTo } from "./outcome.js";
import type { SettledRecord } from "./records.js";

/**
 * The end of a call on the money's side. The code that sends a call or reads its response gets a commit and not the hold. So a
 * call is sent only with a hold, and charged once.
 */
export class Commit {
  readonly #hold: Hold;
  #hasRun = false;

  constructor(hold: Hold) {
    this.#hold = hold;
  }

  /** How the hold ended. */
  get ended(): Promise<HoldEnd> {
    return this.#hold.ended;
  }

  /** The same. `undefined` if it has not ended. */
  get end(): HoldEnd | undefined {
    return this.#hold.end;
  }

  /** The record of the charge. `undefined` if the hold was released, or has not ended. */
  get record(): SettledRecord | undefined {
    return this.#hold.record;
  }

  /** True if the gateway has closed and given the call up. Its outcome is unknown, and the client must not see it end. */
  get isGivenUp(): boolean {
    return this.#hold.isAbandoned;
  }

  /** True once the call was charged, released or given up, or this has begun. */
  get hasRun(): boolean {
    return this.#hasRun;
  }

  /**
   * Charges what was made and keeps its record, or releases the hold if the call reached no provider. Resolves when the ledger
   * has the outcome, or after its last retry.
   *
   * @param sentTo `undefined` if the call reached no provider
   * @throws TypeError if it has run before
   */
  run(sentTo: SentTo | undefined, outcome: Outcome): Promise<HoldEnd> {
    this.#begin();
    return sentTo === undefined ? this.#hold.release() : this.#hold.settle(sentTo, outcome);
  }

  /**
   * Releases the hold of a call that was not sent.
   *
   * @throws TypeError if it has run before
   */
  release(): Promise<HoldEnd> {
    this.#begin();
    return this.#hold.release();
  }

  /** Leaves the hold to a sweep, because the gateway itself failed and it is not known what was made. */
  giveUp(): void {
    this.#hasRun = true;
    this.#hold.abandon();
  }

  #begin(): void {
    if (this.#hasRun) throw new TypeError("A call is charged or released once.");
    this.#hasRun = true;
  }
}
