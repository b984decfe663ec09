import type { Cooldown } from "../admission/admission-store.js";
import type { AttemptFailure } from "../upstream/attempt-failure.js";
import {
  beginAttempt,
  type EntryAttempt,
  endAttempt,
  type HealthEntry,
  recordFailure,
  recordSuccess,
} from "./health-entry.js";
import type { HealthPolicy } from "./health-policy.js";

/** One attempt on a channel or a key, to be ended once. */
export interface HealthAttempt {
  succeeded(): void;
  failed(failure: AttemptFailure): void;
  /** It failed for a reason that says nothing of this one. */
  abandoned(): void;
}

/** What attempts have in common. */
export interface AttemptBook {
  readonly now: () => number;
  readonly policy: HealthPolicy;
  /** The cooldown of an entry has changed. */
  readonly tell: (id: string, entry: HealthEntry) => void;
}

/** A class, as each request has one. */
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

  succeeded(): void {
    const before = this.#entry.cooldown;
    recordSuccess(this.#entry, this.#attempt, this.#book.now(), this.#book.policy);
    this.#tellOfChange(before);
  }

  failed(failure: AttemptFailure): void {
    const before = this.#entry.cooldown;
    const { now, policy } = this.#book;
    recordFailure(this.#entry, this.#attempt, failure, { now: now(), policy });
    this.#tellOfChange(before);
  }

  abandoned(): void {
    endAttempt(this.#entry, this.#attempt);
  }

  #tellOfChange(before: Cooldown | undefined): void {
    if (this.#entry.cooldown !== before) this.#book.tell(this.#id, this.#entry);
  }
}
