import type { Cooldown } from "../image-request.js";
import type { AttemptFailure } from "../upstream-failure.js";
import {
  beginAttempt,
  type EntryAttempt,
  endAttempt,
  type HealthEntry,
  recordFailure,
  recordSuccess,
} from "./health-entry.js";
import type { HealthPolicy } from "./health-policy.js";

/** One attempt on a channel, a key, or a model with a key. Call one of `succeeded`, `failed` and `abandoned`, once. */
export interface HealthAttempt {
  /** True if this attempt is the probe after a cooldown. */
  readonly isProbe: boolean;
  /** Returns true if a cooldown ended. */
  succeeded(): boolean;
  /** Returns true if a cooldown began or became longer. */
  failed(failure: AttemptFailure): boolean;
  /** The attempt failed for a reason that says nothing about this channel, key or model. */
  abandoned(): void;
}

/** What attempts have in common. */
export interface AttemptBook {
  readonly now: () => number;
  readonly policy: HealthPolicy;
  /** The cooldown of an entry has changed. */
  readonly tell: (id: string, entry: HealthEntry) => void;
}

export class BegunAttempt implements HealthAttempt {
  readonly #id: string;
  readonly #entry: HealthEntry;
  readonly #book: AttemptBook;
  readonly #attempt: EntryAttempt;

  constructor(id: string, entry: HealthEntry, book: AttemptBook) {
    this.#id = id;
    this.#entry = entry;
    this.#book = book;
    this.#attempt = beginAttempt(entry, book.now(), book.policy);
  }

  get isProbe(): boolean {
    return this.#attempt.isProbe;
  }

  succeeded(): boolean {
    const before = this.#entry.cooldown;
    recordSuccess(this.#entry, this.#attempt, this.#book.now(), this.#book.policy);
    return this.#tellOfChange(before);
  }

  failed(failure: AttemptFailure): boolean {
    const before = this.#entry.cooldown;
    const { now, policy } = this.#book;
    recordFailure(this.#entry, this.#attempt, failure, { now: now(), policy });
    return this.#tellOfChange(before);
  }

  abandoned(): void {
    endAttempt(this.#entry, this.#attempt);
  }

  #tellOfChange(before: Cooldown | undefined): boolean {
    const hasChanged = this.#entry.cooldown !== before;
    if (hasChanged) this.#book.tell(this.#id, this.#entry);
    return hasChanged;
  }
}
