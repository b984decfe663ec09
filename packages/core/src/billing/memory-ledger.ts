import {
  addDecimals,
  type Decimal,
  formatDecimal,
  isAtMost,
  negateDecimal,
  readDecimal,
} from "../util/decimal.js";
import { createLeaseQueue, type QueueEntry } from "./lease-queue.js";
import type { Balance, KeptHoldStore, MinimalLedger, SettleResult } from "./ledger.js";
import {
  compareAge,
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
import { checkHold, checkRecord, checkUpstream } from "./stored-entries.js";

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

/** Options of a ledger in memory. */
export interface MemoryLedgerOptions {
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** How many records are kept, at least 1. Default 10,000. */
  readonly maxRecords?: number | undefined;
}

/** The account of a caller. */
export interface Account {
  settled: Decimal;
  held: Decimal;
}

/** Whether the budget of a hold, if there is one, covers it. */
export function isCovered({ budget }: HoldRecord, amount: Decimal, { settled, held }: Account): boolean {
  return (
    budget === undefined || isAtMost(addDecimals(addDecimals(settled, held), amount), readDecimal(budget))
  );
}

/** The account as decimal strings. */
export function toBalance({ settled, held }: Account): Balance {
  return { settled: formatDecimal(settled), held: formatDecimal(held) };
}

/** The accounts of the callers. */
export interface MemoryAccounts {
  /** The balance of a caller over all time. */
  of(caller: string): Balance;
  /** The key of the period in which a hold counts. `undefined`: none. */
  periodOf(hold: HoldRecord): string | undefined;
  /** Adds a hold if its budget covers it. Otherwise returns the balance that the budget was compared with. */
  reserve(hold: HoldRecord, amount: Decimal, period: string | undefined): Balance | undefined;
  /** Adds an amount, which may be negative. It also counts in the period, if there is one. */
  add(field: keyof Balance, caller: string, amount: Decimal, period: string | undefined): void;
}

/** The holds and records in memory. What changes them in one step with something else calls these methods, which are synchronous. */
export interface MemoryMoney {
  /** Makes the hold of a task, which only ends with the task. Returns the balance if the budget does not cover it. */
  hold(hold: HoldRecord): Balance | undefined;
  settle(record: SettledRecord): SettleResult;
  release(id: string): void;
  /** Ends the hold of a task whose outcome is unknown. `undefined`: the task has no hold any more. */
  lose(id: string, onLost: LostPolicy): UnresolvedRecord | undefined;
}

/** What the money in memory consists of. */
export interface MemoryMoneyOptions {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly accounts: MemoryAccounts;
  readonly records: MemoryRecords;
  /** Learns of each record that is stored, and of each that is about to be replaced. */
  readonly watcher?: Record<"add" | "takeBack", (record: UsageRecord) => void> | undefined;
}

/** Creates a ledger in the memory of this process that keeps the money and nothing else. */
export function createMemoryMoney({ now, accounts, records, watcher }: MemoryMoneyOptions) {
  const holds = new Map<string, CountedHold>();

  function endHold({ hold, amount, period }: CountedHold): void {
    holds.delete(hold.id);
    accounts.add("held", hold.caller, negateDecimal(amount), period);
  }

  function keep(record: UsageRecord): void {
    accounts.add("settled", record.caller, readDecimal(record.charge), record.period);
    records.keep(record);
    watcher?.add(record);
  }

  function takeBack(record: UsageRecord): void {
    accounts.add("settled", record.caller, negateDecimal(readDecimal(record.charge)), record.period);
    watcher?.takeBack(record);
  }

  /** Returns the balance if the budget does not cover the hold. */
  function makeHold(hold: HoldRecord, endsAt: number | undefined): Balance | undefined {
    const { id } = hold;
    if (holds.has(id) || records.find(id) !== undefined) return undefined;
    const amount = readDecimal(hold.amount);
    const period = accounts.periodOf(hold);
    const balance = accounts.reserve(hold, amount, period);
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

  // No method awaits anything, so each is atomic.
  const ledger: MinimalLedger & KeptHoldStore = {
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
      return accounts.of(caller);
    },
  };
  const money: MemoryMoney = {
    hold: (hold) => makeHold(hold, undefined),
    settle,
    release,
    lose(id, onLost) {
      const open = holds.get(id);
      return open && lose(open, onLost);
    },
  };
  return { ledger, money };
}

/** The newest records by id, and whether they were delivered. */
export interface MemoryRecords {
  find(id: string): UsageRecord | undefined;
  /** Keeps a record to be delivered. It replaces an older version. */
  keep(record: UsageRecord): void;
  /** Leases records that are to be delivered and are not leased, in the order in which they were kept. */
  take(limit: number, leaseMs: number): UsageRecord[];
  /** The same, without the records of callers that have a leased one. */
  takeInOrder(limit: number, leaseMs: number): UsageRecord[];
  markDelivered(record: UsageRecord): void;
  all(): UsageRecord[];
}

/** Keeps the newest records. When it is full, it drops a record that was delivered, or is leased, or waits; the oldest of these. */
export function createMemoryRecords(now: () => number, maxRecords = 10_000): MemoryRecords {
  if (!Number.isSafeInteger(maxRecords) || maxRecords < 1) {
    throw new RangeError(`maxRecords must be a whole number of at least 1, not ${String(maxRecords)}`);
  }
  const byId = new Map<string, QueueEntry<UsageRecord>>();
  const queue = createLeaseQueue<UsageRecord>(now);

  function forget(kept: QueueEntry<UsageRecord> | undefined): void {
    if (kept === undefined) return;
    kept.moveTo(undefined);
    byId.delete(kept.value.id);
  }

  return {
    find: (id) => byId.get(id)?.value,
    keep(record) {
      forget(byId.get(record.id));
      if (byId.size >= maxRecords) forget(queue.first);
      byId.set(record.id, queue.add(record));
    },
    take: (limit, leaseMs) => queue.take(limit, leaseMs),
    takeInOrder: (limit, leaseMs) => queue.take(limit, leaseMs, ({ caller }) => caller),
    markDelivered({ id, state }) {
      const kept = byId.get(id);
      // An id has at most one version of each state.
      if (kept?.value.state === state) queue.markDelivered(kept);
    },
    all: () => [...queue],
  };
}
