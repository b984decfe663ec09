import type { AsyncLedger, HoldResult } from "@calotype/core/billing";
import { createBatchQueue } from "./batch-queue.js";
import type { Books } from "./books.js";
import { checkText } from "./check-input.js";
import { type HoldEntry, type RecordEntry, toHoldEntry, toRecordEntry } from "./entries.js";

/** Holds and their ends, one by one for those who ask, together for the database. */
export interface Writes extends Pick<AsyncLedger, "hold" | "settle" | "release"> {
  /** Resolves when all that was asked for until now is done or has failed. */
  settled(): Promise<void>;
}

/** What writes work with. */
export interface WritesParts {
  readonly books: Books;
  /** Resolves when there are tables to write to. */
  readonly ready: () => Promise<void>;
  readonly timeoutMs: number;
}

/** A queue for each kind, since one statement does one kind. */
export function createWrites({ books, ready, timeoutMs }: WritesParts): Writes {
  const settlements = createBatchQueue(timeoutMs, async (entries: readonly RecordEntry[]) => {
    await books.settle(entries);
    return entries.map(() => undefined);
  });
  const releases = createBatchQueue(timeoutMs, async (entries: readonly { readonly id: string }[]) => {
    await books.release(entries.map(({ id }) => id));
    return entries.map(() => undefined);
  });
  const releaseLate = ({ id }: HoldEntry, { ok }: HoldResult): void => {
    // Where this fails, too, the hold is left to a sweep.
    if (ok) releases.run({ id }).catch(() => undefined);
  };
  const holds = createBatchQueue(
    timeoutMs,
    (entries: readonly HoldEntry[]) => books.hold(entries),
    releaseLate,
  );
  return {
    hold: async (hold) => {
      const entry = toHoldEntry(hold);
      await ready();
      return await holds.run(entry);
    },
    settle: async (record) => {
      const entry = toRecordEntry(record);
      await ready();
      await settlements.run(entry);
    },
    release: async (id) => {
      checkText(id, "id");
      await ready();
      await releases.run({ id });
    },
    settled: async () => {
      await Promise.all([holds.settled(), settlements.settled(), releases.settled()]);
    },
  };
}
