import { createBalances } from "./balances.js";
import { type BoundedRecords, createBoundedRecords } from "./bounded-records.js";
import { checkHold, checkRecord } from "./check-entry.js";
import { compareAge } from "./compare-text.js";
import { copyRecord } from "./copy-record.js";
import type { HoldRecord, Ledger, RecordFilter } from "./ledger.js";
import { createRecordMatcher } from "./match-records.js";
import { sumRecords } from "./sum-records.js";
import { toReleasedRecord, toUnresolvedRecord } from "./unresolved-record.js";
import type { UsageRecord } from "./usage-record.js";

/** A hold and its end in milliseconds, by the clock of the ledger. */
type OpenHold = HoldRecord & { readonly endsAt: number };

/** What {@link createMemoryLedger} can be told. */
export interface MemoryLedgerOptions {
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** How many records are kept, at least 1. Default 10,000. */
  readonly maxRecords?: number | undefined;
}

/**
 * A ledger in the memory of this process, for development and for one process that may forget: with
 * the process ends what it knew of budgets and records.
 *
 * Balances are exact for as long as it lives, of every caller that spent something. Of the records it keeps
 * the newest: past `maxRecords` the oldest goes that was delivered, then one that is out on a lease, and
 * the oldest undelivered one only where all wait for their delivery. A dropped record is missing in
 * `records` and `totals`, its charge stays in the balance, and its id is forgotten.
 *
 * @throws RangeError when `maxRecords` is no whole number of at least 1.
 * @example
 * ```ts
 * import { createMemoryLedger } from "@calotype/core/billing";
 *
 * const ledger = createMemoryLedger({ maxRecords: 100_000 });
 * const { settled, held } = await ledger.balance("me");
 * ```
 */
export function createMemoryLedger({
  now = Date.now,
  maxRecords = 10_000,
}: MemoryLedgerOptions = {}): Ledger {
  if (!Number.isSafeInteger(maxRecords) || maxRecords < 1) {
    throw new RangeError(`maxRecords must be a whole number of at least 1, not ${String(maxRecords)}`);
  }
  const balances = createBalances();
  const holds = new Map<string, OpenHold>();
  const records = createBoundedRecords(now, maxRecords);

  function endHold(hold: HoldRecord): void {
    holds.delete(hold.id);
    balances.subtract(hold.caller, "held", hold.amount);
  }

  function keep(record: UsageRecord): void {
    balances.add(record.caller, "settled", record.charge);
    records.keep(record);
  }

  // No method waits for anything, so each is atomic.
  return {
    hold(hold) {
      checkHold(hold);
      if (holds.has(hold.id) || records.find(hold.id) !== undefined) return { ok: true };
      const { caller, amount, budget } = hold;
      if (!balances.hasRoom(caller, amount, budget)) return { ok: false, balance: balances.of(caller) };
      balances.add(caller, "held", amount);
      holds.set(hold.id, { ...hold, endsAt: now() + hold.ttlMs });
      return { ok: true };
    },
    settle(record) {
      checkRecord(record);
      const hold = holds.get(record.id);
      // One that is held has no record: a look among thousands that no cache holds is saved.
      const known = hold === undefined ? records.find(record.id) : undefined;
      if (known?.state === "settled") return;
      keep(copyRecord(record));
      if (hold !== undefined) endHold(hold);
      if (known !== undefined) balances.subtract(known.caller, "settled", known.charge);
    },
    release(id) {
      const hold = holds.get(id);
      if (hold !== undefined) {
        endHold(hold);
        return;
      }
      const known = records.find(id);
      if (known?.state !== "unresolved") return;
      balances.subtract(known.caller, "settled", known.charge);
      keep(toReleasedRecord(known));
    },
    async sweep({ onLost, own = false }) {
      const lost = [...holds.values()].filter((hold) => own || hold.endsAt <= now()).toSorted(compareAge);
      return lost.map((hold) => {
        const record = toUnresolvedRecord(hold, onLost);
        endHold(hold);
        keep(record);
        return copyRecord(record);
      });
    },
    takeUndelivered(limit, leaseMs) {
      return records.take(limit, leaseMs).map(copyRecord);
    },
    markDelivered(delivered) {
      for (const record of delivered) records.markDelivered(record);
    },
    async balance(caller) {
      return balances.of(caller);
    },
    records: (filter = {}) => readRecords(records, filter),
    async totals(by, filter = {}) {
      return sumRecords(records.all().filter(createRecordMatcher(filter)), by);
    },
  };
}

/** The records as they are when the first is asked for. Each is the reader's own copy. */
async function* readRecords(records: BoundedRecords, filter: RecordFilter): AsyncGenerator<UsageRecord> {
  const found = records.all().filter(createRecordMatcher(filter)).toSorted(compareAge);
  for (const record of found) yield copyRecord(record);
}
