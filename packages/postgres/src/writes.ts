import { type HoldResult, isName, type Ledger } from "@calotype/core/billing";
import { createBatchQueue } from "./batch-queue.js";
import type { Books } from "./books.js";
import {
  type HoldEntry,
  type RecordEntry,
  type ReleaseEntry,
  toHoldEntry,
  toRecordEntry,
} from "./entries.js";
import { isRefusal } from "./postgres-error.js";
import type { UnsureHolds } from "./unsure-holds.js";

/** Writes holds and their ends. Calls that are made at the same time are sent to the database together. */
export interface Writes extends Pick<Ledger, "hold" | "settle" | "release"> {
  /** Resolves when all that was asked for until now is done or has failed. */
  settled(): Promise<void>;
}

/** What writes work with. */
export interface WritesParts {
  readonly books: Books;
  readonly unsureHolds: UnsureHolds;
  /** Resolves when the tables can be written to. */
  readonly ready: () => Promise<void>;
  readonly timeoutMs: number;
}

/** One queue for each kind, because a statement does only one kind. */
export function createWrites({ books, unsureHolds, ready, timeoutMs }: WritesParts): Writes {
  const settlements = createBatchQueue(timeoutMs, async (entries: readonly RecordEntry[]) => {
    await books.settle(entries);
    return entries.map(() => undefined);
  });
  const releases = createBatchQueue(timeoutMs, async (entries: readonly ReleaseEntry[]) => {
    await books.release(entries);
    return entries.map(() => undefined);
  });
  const release = async (id: string): Promise<void> => {
    await releases.run({ id, unsureCaller: unsureHolds.callerOf(id) });
    unsureHolds.forget(id);
  };
  /** Not awaited by a caller. If it fails, the hold stays until its time is over. */
  const releaseLate = ({ id }: Pick<HoldEntry, "id">): void => void release(id).catch(() => undefined);
  const holds = createBatchQueue(
    timeoutMs,
    (entries: readonly HoldEntry[]) => books.hold(entries),
    (entry, { ok }) => {
      if (ok) releaseLate(entry);
    },
  );
  const runHold = async (entry: HoldEntry): Promise<HoldResult> => {
    try {
      return await holds.run(entry);
    } catch (error) {
      // The statement may still reach the server.
      if (!isRefusal(error)) unsureHolds.add(entry);
      throw error;
    }
  };
  return {
    hold: async (hold) => {
      const entry = toHoldEntry(hold);
      await ready();
      const result = await runHold(entry);
      // If a hold was sent twice, the first statement may still arrive and make the hold.
      if (!result.ok && unsureHolds.callerOf(entry.id) !== undefined) releaseLate(entry);
      return result;
    },
    settle: async (record) => {
      const entry = toRecordEntry(record);
      await ready();
      await settlements.run(entry);
      // Its record prevents a late statement from making the hold.
      unsureHolds.forget(entry.id);
    },
    release: async (id) => {
      await ready();
      // An id that is not a name cannot exist in PostgreSQL, and must not be sent to it.
      if (isName(id)) await release(id);
    },
    settled: async () => {
      await Promise.all([holds.settled(), settlements.settled(), releases.settled()]);
    },
  };
}
