import {
  addDecimals,
  type Decimal,
  formatDecimal,
  isAtMost,
  readDecimal,
  subtractDecimal,
  ZERO,
} from "./decimal.js";
import type { Balance, Ledger, RecordFilter } from "./ledger.js";
import {
  copyRecord,
  type HoldRecord,
  toReleasedRecord,
  toUnresolvedRecord,
  type UsageRecord,
} from "./records.js";
import { compareAge, createRecordMatcher, sumRecords } from "./reports.js";
import { checkHold, checkRecord } from "./stored-entries.js";

interface OpenHold {
  readonly hold: HoldRecord;
  readonly amount: Decimal;
  /** Milliseconds since 1970, by the clock of the ledger. */
  readonly endsAt: number;
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
 * Balances are exact and include every charge. The ledger keeps the newest `maxRecords` records: it drops the
 * record that was delivered first, then a leased record, then the oldest undelivered record. A dropped record is missing in
 * `records` and `totals`, its charge stays in the balance, and its id is forgotten.
 *
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
}: MemoryLedgerOptions = {}): Ledger {
  if (!Number.isSafeInteger(maxRecords) || maxRecords < 1) {
    throw new RangeError(`maxRecords must be a whole number of at least 1, not ${String(maxRecords)}`);
  }
  const balances = createBalances();
  const holds = new Map<string, OpenHold>();
  const records = createRecordStore(now, maxRecords);

  function endHold({ hold, amount }: OpenHold): void {
    holds.delete(hold.id);
    balances.subtract(hold.caller, "held", amount);
  }

  function keep(record: UsageRecord): void {
    balances.add(record.caller, "settled", readDecimal(record.charge));
    records.keep(record);
  }

  function takeBack(record: UsageRecord): void {
    balances.subtract(record.caller, "settled", readDecimal(record.charge));
  }

  // No method awaits anything, so each is atomic.
  return {
    async hold(hold) {
      checkHold(hold);
      if (holds.has(hold.id) || records.find(hold.id) !== undefined) return { ok: true };
      const { id, caller, budget, ttlMs } = hold;
      const amount = readDecimal(hold.amount);
      if (!balances.hasRoom(caller, amount, budget)) return { ok: false, balance: balances.of(caller) };
      balances.add(caller, "held", amount);
      holds.set(id, { hold: { ...hold }, amount, endsAt: now() + ttlMs });
      return { ok: true };
    },
    async settle(record) {
      checkRecord(record);
      const hold = holds.get(record.id);
      const known = records.find(record.id);
      if (known?.state === "settled") return;
      keep(copyRecord(record));
      if (hold !== undefined) endHold(hold);
      if (known !== undefined) takeBack(known);
    },
    async release(id) {
      const hold = holds.get(id);
      if (hold !== undefined) {
        endHold(hold);
        return;
      }
      const known = records.find(id);
      if (known?.state !== "unresolved") return;
      takeBack(known);
      keep(toReleasedRecord(known));
    },
    async sweep({ onLost, own = false }) {
      const lost = [...holds.values()]
        .filter(({ endsAt }) => own || endsAt <= now())
        .toSorted((one, other) => compareAge(one.hold, other.hold));
      return lost.map((open) => {
        const record = toUnresolvedRecord(open.hold, onLost);
        endHold(open);
        keep(record);
        return copyRecord(record);
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
    records: (filter = {}) => readRecords(records, filter),
    async totals(by, filter = {}) {
      return sumRecords(records.all().filter(createRecordMatcher(filter)), by);
    },
  };
}

/** The records as they are when the first is asked for. Each is the reader's own copy. */
async function* readRecords(records: RecordStore, filter: RecordFilter): AsyncGenerator<UsageRecord> {
  const found = records.all().filter(createRecordMatcher(filter)).toSorted(compareAge);
  for (const record of found) yield copyRecord(record);
}

/** The accounts of the callers. */
interface Balances {
  of(caller: string): Balance;
  /** True if `settled + held + amount ≤ budget`, or without a budget. */
  hasRoom(caller: string, amount: Decimal, budget: string | undefined): boolean;
  add(caller: string, part: keyof Balance, amount: Decimal): void;
  subtract(caller: string, part: keyof Balance, amount: Decimal): void;
}

type Account = Readonly<Record<keyof Balance, Decimal>>;

const EMPTY: Account = { settled: ZERO, held: ZERO };

function createBalances(): Balances {
  const accounts = new Map<string, Account>();
  const accountOf = (caller: string): Account => accounts.get(caller) ?? EMPTY;

  function set(caller: string, part: keyof Balance, amount: Decimal): void {
    const account = { ...accountOf(caller), [part]: amount };
    // An empty account is removed, so that callers that never spent anything take no memory.
    if (account.settled.units === 0n && account.held.units === 0n) accounts.delete(caller);
    else accounts.set(caller, account);
  }

  return {
    of(caller) {
      const { settled, held } = accountOf(caller);
      return { settled: formatDecimal(settled), held: formatDecimal(held) };
    },
    hasRoom(caller, amount, budget) {
      if (budget === undefined) return true;
      const { settled, held } = accountOf(caller);
      return isAtMost(addDecimals(addDecimals(settled, held), amount), readDecimal(budget));
    },
    add(caller, part, amount) {
      set(caller, part, addDecimals(accountOf(caller)[part], amount));
    },
    subtract(caller, part, amount) {
      set(caller, part, subtractDecimal(accountOf(caller)[part], amount));
    },
  };
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

interface KeptRecord {
  readonly record: UsageRecord;
  /** The position of the record in the order in which records were kept. */
  readonly sequence: number;
}

interface LeasedRecord extends KeptRecord {
  readonly leasedUntil: number;
}

/**
 * Each record is in one of three maps, in the order in which it was added to the map. All waiting records were kept
 * after all leased ones, because the oldest are leased first.
 */
function createRecordStore(now: () => number, maxRecords: number): RecordStore {
  const waiting = new Map<string, KeptRecord>();
  const leased = new Map<string, LeasedRecord>();
  const delivered = new Map<string, Pick<KeptRecord, "record">>();
  let sequence = 0;
  /** No lease ends before this time, so that most calls of `take` need not look for leases that are over. */
  let firstLeaseEnd = Infinity;

  const find = (id: string): UsageRecord | undefined =>
    (waiting.get(id) ?? leased.get(id) ?? delivered.get(id))?.record;

  function forget(id: string): void {
    for (const records of [waiting, leased, delivered]) records.delete(id);
  }

  /** Goes on from call to call: a new iterator would pass over all deleted entries of the map again. */
  let deliveredIds = delivered.keys();
  function takeOldestDelivered(): string | undefined {
    const { value } = deliveredIds.next();
    if (value !== undefined) return value;
    deliveredIds = delivered.keys();
    return deliveredIds.next().value;
  }

  /** Delivered records are safe elsewhere, and leased records are about to be. */
  function dropOne(): void {
    const oldest = takeOldestDelivered();
    if (oldest !== undefined) {
      delivered.delete(oldest);
      return;
    }
    const records = leased.size > 0 ? leased : waiting;
    const [first] = records.keys();
    if (first !== undefined) records.delete(first);
  }

  /** The records whose lease is over, in the order in which they were kept. */
  function findExpired(instant: number): KeptRecord[] {
    if (instant < firstLeaseEnd) return [];
    const expired: LeasedRecord[] = [];
    firstLeaseEnd = Infinity;
    for (const entry of leased.values()) {
      firstLeaseEnd = Math.min(firstLeaseEnd, entry.leasedUntil);
      if (entry.leasedUntil <= instant) expired.push(entry);
    }
    return expired.toSorted((one, other) => one.sequence - other.sequence);
  }

  return {
    find,
    keep(record) {
      forget(record.id);
      if (waiting.size + leased.size + delivered.size >= maxRecords) dropOne();
      waiting.set(record.id, { record, sequence: sequence++ });
    },
    take(limit, leaseMs) {
      const instant = now();
      const taken = findExpired(instant).slice(0, limit);
      for (const entry of waiting.values()) {
        if (taken.length >= limit) break;
        taken.push(entry);
      }
      const leasedUntil = instant + leaseMs;
      firstLeaseEnd = Math.min(firstLeaseEnd, leasedUntil);
      for (const entry of taken) {
        const { id } = entry.record;
        forget(id);
        leased.set(id, { ...entry, leasedUntil });
      }
      return taken.map(({ record }) => record);
    },
    markDelivered({ id, state }) {
      // An id has at most one version of each state.
      const known = find(id);
      if (known?.state !== state) return;
      forget(id);
      delivered.set(id, { record: known });
    },
    all: () =>
      [waiting, leased, delivered].flatMap((records) => Array.from(records.values(), ({ record }) => record)),
  };
}
