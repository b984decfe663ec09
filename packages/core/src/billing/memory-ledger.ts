import { createMemoryHistory } from "#memory-history";
import { createLinkedList, type Link, type LinkedList } from "../util/collections.js";
import { type Decimal, readDecimal } from "../util/decimal.js";
import type { CallerLedger } from "./caller-store.js";
import type { Balance, BudgetLedger, RecordFilter, ReportOptions, SettleResult } from "./ledger.js";
import { createMemoryBalances } from "./memory-balances.js";
import { createMemoryCallers } from "./memory-callers.js";
import { createMemoryTasks } from "./memory-tasks.js";
import { findPeriod } from "./periods.js";
import {
  copyRecord,
  type HoldRecord,
  type LostPolicy,
  type SettledRecord,
  toReleasedRecord,
  toUnresolvedRecord,
  type UnresolvedRecord,
  type UsageRecord,
  withPeriod,
} from "./records.js";
import { assertWanted, compareAge, createRecordMatcher, sumRecords } from "./reports.js";
import { checkHold, checkRecord, checkUpstream } from "./stored-entries.js";
import type { TaskLedger } from "./task-store.js";
import type { HistoryLedger } from "./usage-history.js";

interface CountedHold {
  readonly hold: HoldRecord;
  readonly amount: Decimal;
  /** The key of the period in which the hold is counted. */
  readonly period: string | undefined;
  /** Milliseconds since 1970, by the clock of the ledger. `undefined`: the hold of a task, which ends with the task. */
  endsAt: number | undefined;
  /** What is needed to continue the request. */
  upstream: string | undefined;
  /** True if its gateway has closed, and another one is to continue the request. */
  isLeft: boolean;
}

/** Options of {@link createMemoryLedger}. */
export interface MemoryLedgerOptions {
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** How many records are kept, at least 1. Default 10,000. */
  readonly maxRecords?: number | undefined;
}

/**
 * A ledger in the memory of this process, for development and for a single process. Balances and records are lost when
 * the process ends.
 *
 * Balances are exact and include every charge; those of periods are kept for 10,000 callers and periods. The ledger keeps the
 * newest `maxRecords` records: it drops the record that was delivered first, then a leased record, then the oldest undelivered
 * record. A dropped record is missing in `records` and `totals`, its charge stays in the balance, and its id is forgotten.
 *
 * It keeps totals, also of dropped records, for 20,000 combinations of hour, caller, model and channel; not on Workers.
 *
 * It also keeps 1,000 tasks, see `TaskStore.submit`. When it is full, it drops tasks that ended longest ago, of the caller
 * that has most. And it keeps 10,000 callers that are created at run time.
 *
 * @param options how many records are kept, and for tests the clock
 * @throws RangeError if `maxRecords` is not a whole number of at least 1
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
}: MemoryLedgerOptions = {}): TaskLedger & CallerLedger & BudgetLedger & Partial<HistoryLedger> {
  if (!Number.isSafeInteger(maxRecords) || maxRecords < 1) {
    throw new RangeError(`maxRecords must be a whole number of at least 1, not ${String(maxRecords)}`);
  }
  const balances = createMemoryBalances(now);
  const holds = new Map<string, CountedHold>();
  const records = createRecordStore(now, maxRecords);
  const history = createMemoryHistory?.(records);

  function endHold({ hold, amount, period }: CountedHold): void {
    holds.delete(hold.id);
    balances.free(hold.caller, amount, period);
  }

  function keep(record: UsageRecord): void {
    balances.charge(record.caller, readDecimal(record.charge), record.period);
    records.keep(record);
    history?.add(record);
  }

  function takeBack(record: UsageRecord): void {
    balances.refund(record.caller, readDecimal(record.charge), record.period);
    history?.takeBack(record);
  }

  /** Returns the balance if the budget does not cover the hold. */
  function makeHold(hold: HoldRecord, endsAt: number | undefined): Balance | undefined {
    const { id } = hold;
    if (holds.has(id) || records.find(id) !== undefined) return undefined;
    const amount = readDecimal(hold.amount);
    const period = hold.period && findPeriod(hold.period, now()).key;
    const balance = balances.reserve(hold, amount, period);
    if (balance !== undefined) return balance;
    holds.set(id, { hold: { ...hold }, amount, period, endsAt, upstream: undefined, isLeft: false });
    return undefined;
  }

  function settle(record: SettledRecord): SettleResult {
    const hold = holds.get(record.id);
    // An open hold has no record.
    const known = hold === undefined ? records.find(record.id) : undefined;
    if (known?.state === "settled") return { isLate: false };
    if (hold !== undefined) endHold(hold);
    const copy = withPeriod(copyRecord(record), hold?.period ?? known?.period);
    if (known === undefined) {
      keep(copy);
      return { isLate: false };
    }
    // A sweep has already ended the hold.
    takeBack(known);
    keep({ ...copy, late: true });
    return { isLate: true };
  }

  function release(id: string): void {
    const hold = holds.get(id);
    if (hold !== undefined) {
      endHold(hold);
      return;
    }
    const known = records.find(id);
    if (known?.state !== "unresolved") return;
    takeBack(known);
    keep(toReleasedRecord(known));
  }

  function lose(open: CountedHold, onLost: LostPolicy): UnresolvedRecord {
    const record = withPeriod(toUnresolvedRecord(open.hold, onLost), open.period);
    endHold(open);
    keep(record);
    return copyRecord(record);
  }

  const tasks = createMemoryTasks({
    now,
    money: {
      hold: (hold) => makeHold(hold, undefined),
      settle,
      release,
      lose: (id, onLost) => {
        const open = holds.get(id);
        return open && lose(open, onLost);
      },
    },
  });

  // No method awaits anything, so each is atomic.
  return {
    tasks,
    callers: createMemoryCallers(now),
    budgets: balances.store,
    ...(history && { history: history.history }),
    async hold(hold) {
      checkHold(hold);
      const balance = makeHold(hold, now() + hold.ttlMs);
      return balance === undefined ? { ok: true } : { ok: false, balance };
    },
    async settle(record) {
      checkRecord(record);
      return settle(record);
    },
    async release(id) {
      release(id);
    },
    async sweep({ onLost, own = false }) {
      const instant = now();
      const plain = [...holds.values()].filter(({ endsAt }) => endsAt !== undefined);
      const lost = plain.filter(
        ({ endsAt = 0, upstream }) => endsAt <= instant || (own && upstream === undefined),
      );
      for (const open of own ? plain : []) open.isLeft = true;
      return lost
        .toSorted((one, other) => compareAge(one.hold, other.hold))
        .map((open) => lose(open, onLost));
    },
    async keepUpstream(id, upstream) {
      checkUpstream(upstream);
      const open = holds.get(id);
      if (open?.endsAt !== undefined && !open.isLeft) open.upstream = upstream;
    },
    async takeKept({ limit, ttlMs }) {
      const left = [...holds.values()].filter(({ isLeft }) => isLeft).slice(0, limit);
      return left.map((open) => {
        const { hold, endsAt = 0, upstream = "" } = open;
        open.endsAt = Math.max(endsAt, now() + ttlMs);
        open.isLeft = false;
        return { hold: { ...hold }, upstream };
      });
    },
    async takeUndelivered(limit, leaseMs) {
      return records.take(limit, leaseMs).map(copyRecord);
    },
    async markDelivered(delivered) {
      for (const record of delivered) records.markDelivered(record);
    },
    async balance(caller) {
      return balances.of(caller);
    },
    records: (filter = {}, options = {}) => readRecords(records, filter, options),
    async totals(by, filter = {}, options = {}) {
      assertWanted(options);
      return sumRecords(records.all().filter(createRecordMatcher(filter)), by);
    },
  };
}

/** The records as they are when the first is asked for. Each is the reader's own copy. */
async function* readRecords(
  records: RecordStore,
  filter: RecordFilter,
  options: ReportOptions,
): AsyncGenerator<UsageRecord> {
  assertWanted(options);
  const found = records.all().filter(createRecordMatcher(filter)).toSorted(compareAge);
  for (const record of found) {
    assertWanted(options);
    yield copyRecord(record);
  }
}

/** The newest records by id, and whether they were delivered. */
interface RecordStore {
  find(id: string): UsageRecord | undefined;
  /** Keeps a record to be delivered. It replaces an older version. */
  keep(record: UsageRecord): void;
  /** Leases records that are to be delivered and are not leased, in the order in which they were kept. */
  take(limit: number, leaseMs: number): UsageRecord[];
  markDelivered(record: UsageRecord): void;
  all(): UsageRecord[];
}

/** A record, in one of the lists of a {@link RecordStore}. A class, because V8 may give literals long-lived memory. */
class KeptRecord {
  readonly record: UsageRecord;
  /** The position of the record in the order in which records were kept. */
  readonly sequence: number;
  leasedUntil = 0;
  list: LinkedList<KeptRecord>;
  readonly link: Link<KeptRecord>;

  constructor(record: UsageRecord, sequence: number, list: LinkedList<KeptRecord>) {
    this.record = record;
    this.sequence = sequence;
    this.list = list;
    this.link = list.add(this);
  }

  /** Moves the record to the end of a list. */
  moveTo(list: LinkedList<KeptRecord>): void {
    this.list.delete(this.link);
    this.list = list;
    list.add(this, this.link);
  }
}

/**
 * Each record is in one of three lists, in the order in which it was added to the list. All waiting records were kept
 * after all leased ones, because the oldest are leased first.
 */
function createRecordStore(now: () => number, maxRecords: number): RecordStore {
  const byId = new Map<string, KeptRecord>();
  const waiting = createLinkedList<KeptRecord>();
  const leased = createLinkedList<KeptRecord>();
  const delivered = createLinkedList<KeptRecord>();
  let sequence = 0;
  /** No lease ends before this time, so that most calls of `take` need not look for leases that are over. */
  let firstLeaseEnd = Infinity;

  function forget(kept: KeptRecord): void {
    kept.list.delete(kept.link);
    byId.delete(kept.record.id);
  }

  /** Delivered records are safe elsewhere, and leased records are about to be. */
  function dropOne(): void {
    const oldest = delivered.first ?? leased.first ?? waiting.first;
    if (oldest !== undefined) forget(oldest);
  }

  /** The records whose lease is over, in the order in which they were kept. */
  function findExpired(instant: number): KeptRecord[] {
    if (instant < firstLeaseEnd) return [];
    const expired: KeptRecord[] = [];
    firstLeaseEnd = Infinity;
    for (const kept of leased) {
      firstLeaseEnd = Math.min(firstLeaseEnd, kept.leasedUntil);
      if (kept.leasedUntil <= instant) expired.push(kept);
    }
    return expired.toSorted((one, other) => one.sequence - other.sequence);
  }

  return {
    find: (id) => byId.get(id)?.record,
    keep(record) {
      const replaced = byId.get(record.id);
      if (replaced !== undefined) forget(replaced);
      if (byId.size >= maxRecords) dropOne();
      byId.set(record.id, new KeptRecord(record, sequence++, waiting));
    },
    take(limit, leaseMs) {
      const instant = now();
      const taken = findExpired(instant).slice(0, limit);
      for (const kept of waiting) {
        if (taken.length >= limit) break;
        taken.push(kept);
      }
      const leasedUntil = instant + leaseMs;
      firstLeaseEnd = Math.min(firstLeaseEnd, leasedUntil);
      for (const kept of taken) {
        kept.moveTo(leased);
        kept.leasedUntil = leasedUntil;
      }
      return taken.map(({ record }) => record);
    },
    markDelivered({ id, state }) {
      const kept = byId.get(id);
      // An id has at most one version of each state.
      if (kept?.record.state === state) kept.moveTo(delivered);
    },
    all: () => [waiting, leased, delivered].flatMap((list) => Array.from(list, ({ record }) => record)),
  };
}
