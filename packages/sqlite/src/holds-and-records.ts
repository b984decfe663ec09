import type { DatabaseSync } from "node:sqlite";
import {
  checkHold,
  checkRecord,
  checkUpstream,
  compareAge,
  type EntryFailure,
  type HoldRecord,
  type HoldResult,
  type KeptHold,
  type LostPolicy,
  parseHold,
  parseRecord,
  readDecimal,
  readFacts,
  type SettledRecord,
  type SettleResult,
  type StoredHold,
  type TakeKeptOptions,
  toReleasedRecord,
  toUnresolvedRecord,
  type UnresolvedRecord,
  type UsageRecord,
  withPeriod,
} from "@calotype/core/stores";
import type { Balances } from "./balances.js";
import type { CountedRecord, HourlyTotals } from "./hourly-totals.js";
import type { EntryTable } from "./outbox-table.js";
import type { Owner } from "./owner.js";
import { type Row, readText } from "./read-column.js";

/** Ends holds. Everything here runs inside a transaction. */
export interface Settlement {
  /** @param hold the hold, if it was not in the table of holds and the caller has ended it */
  settle(record: SettledRecord, hold?: StoredHold): SettleResult;
  release(id: string): void;
  sweep(onLost: LostPolicy, own: boolean): SweptHolds;
  /** Keeps the record of a request whose outcome is unknown. The caller ends its hold. */
  lose(hold: StoredHold, onLost: LostPolicy): UnresolvedRecord;
}

/** The records of a sweep, and the holds that it could not end. */
interface SweptHolds {
  readonly records: readonly UnresolvedRecord[];
  readonly failures: readonly EntryFailure[];
}

/** The parts of the database that a settlement changes. */
export interface SettlementContext {
  readonly balances: Balances;
  readonly holds: Holds;
  readonly records: Records;
  readonly outbox: Pick<EntryTable, "removeOld">;
}

/** Joins holds, records and balances. */
export function createSettlement({ balances, holds, records, outbox }: SettlementContext): Settlement {
  const keep = (record: UsageRecord): void => {
    records.put(record);
    balances.charge(record.caller, readDecimal(record.charge), record.period);
  };
  const lose = (hold: StoredHold, onLost: LostPolicy): UnresolvedRecord => {
    const record = withPeriod(toUnresolvedRecord(hold, onLost), hold.periodKey);
    keep(record);
    return record;
  };
  /** Removes a replaced record from the balance and the totals. */
  const takeBack = (record: UsageRecord): void => {
    records.takeBack(record);
    balances.refund(record.caller, readDecimal(record.charge), record.period);
  };

  return {
    settle: (record, taskHold) => {
      checkRecord(record);
      const hold = holds.end(record.id);
      if (hold !== undefined) {
        keep(withPeriod(record, hold.periodKey));
        return { isLate: false };
      }
      const known = records.find(record.id);
      if (known?.state === "settled") return { isLate: false };
      const copy = withPeriod(record, taskHold?.periodKey ?? known?.period);
      if (known === undefined) {
        keep(copy);
        return { isLate: false };
      }
      // A sweep has already ended the hold.
      takeBack(known);
      keep({ ...copy, late: true });
      return { isLate: true };
    },
    release: (id) => {
      if (holds.end(id) !== undefined) return;
      const known = records.find(id);
      if (known?.state !== "unresolved") return;
      takeBack(known);
      keep(toReleasedRecord(known));
    },
    sweep: (onLost, own) => {
      outbox.removeOld();
      const lost = holds.findLost({ own });
      const swept = lost.holds.map((hold) => {
        holds.end(hold.id);
        return lose(hold, onLost);
      });
      return { records: swept, failures: lost.failures };
    },
    lose,
  };
}

/** The open holds. Everything here runs inside a transaction. */
export interface Holds {
  /** Sets money aside if the budget allows it. Does nothing if the id has a hold or a record. */
  open(hold: HoldRecord): HoldResult;
  /** Removes a hold and its amount from the balance, and returns it. */
  end(id: string): StoredHold | undefined;
  /**
   * The lost holds: holds of this owner and of dead owners whose time is over, and holds of dead owners that cannot be
   * continued. With `own` also those of this owner; those that can be continued have no owner then.
   */
  findLost(options: { readonly own: boolean }): LostHolds;
  /** Stores what another process needs to continue the request of a hold of this owner. */
  keepUpstream(id: string, upstream: string): void;
  /** Whether there are holds of dead owners that can be continued. Only reads. */
  hasKept(): boolean;
  takeKept(options: TakeKeptOptions): readonly KeptHold[];
}

/** The lost holds, the oldest first, and the holds that cannot be read. */
interface LostHolds {
  readonly holds: readonly StoredHold[];
  readonly failures: readonly EntryFailure[];
}

/** What holds need besides their own table. */
export interface HoldsContext {
  readonly balances: Balances;
  readonly owner: Owner;
  readonly hasRecord: (id: string) => boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The holds in the database. */
export function createHolds(database: DatabaseSync, context: HoldsContext): Holds {
  const { balances, owner, hasRecord, now } = context;
  const select = database.prepare("SELECT 1 FROM holds WHERE id = ?");
  const insert = database.prepare("INSERT INTO holds (id, owner, expires_at, hold) VALUES (?, ?, ?, ?)");
  const remove = database.prepare("DELETE FROM holds WHERE id = ? RETURNING hold");
  const selectLost = database.prepare(
    `SELECT id, hold FROM holds WHERE (owner = :self AND (expires_at <= :now OR (upstream IS NULL AND :own)))
       OR (owner <> :self AND owner NOT IN (SELECT id FROM owners WHERE alive_until > :now)
         AND (expires_at <= :now OR upstream IS NULL))`,
  );
  const leave = database.prepare("UPDATE holds SET owner = '' WHERE owner = ? AND upstream IS NOT NULL");
  const setUpstream = database.prepare("UPDATE holds SET upstream = ? WHERE id = ? AND owner = ?");
  const selectKept = database.prepare(SELECT_KEPT);
  const takeOver = database.prepare(
    "UPDATE holds SET owner = ?, expires_at = max(expires_at, ?) WHERE id = ?",
  );
  const forgetDead = database.prepare("DELETE FROM owners WHERE alive_until <= ? AND id <> ?");

  return {
    open: (hold) => {
      checkHold(hold);
      if (select.get(hold.id) !== undefined || hasRecord(hold.id)) return { ok: true };
      const reservation = balances.reserve(hold);
      if (!reservation.ok) return reservation;
      owner.renewWhenDue();
      insert.run(hold.id, owner.id, Math.ceil(now() + hold.ttlMs), JSON.stringify(reservation.hold));
      return { ok: true };
    },
    end: (id) => {
      const row = remove.get(id);
      if (row === undefined) return undefined;
      const hold = parseHold(readText(row, "hold"));
      balances.free(hold);
      return hold;
    },
    findLost: ({ own }) => {
      const instant = Math.floor(now());
      const rows = selectLost.all({ now: instant, self: owner.id, own: own ? 1 : 0 });
      if (own) leave.run(owner.id);
      forgetDead.run(instant, owner.id);
      return readHolds(rows);
    },
    keepUpstream: (id, upstream) => {
      checkUpstream(upstream);
      setUpstream.run(upstream, id, owner.id);
    },
    hasKept: () => selectKept.get({ now: Math.floor(now()), self: owner.id, limit: 1 }) !== undefined,
    takeKept: ({ limit, ttlMs }) => {
      const instant = now();
      const rows = selectKept.all({ now: Math.floor(instant), self: owner.id, limit });
      if (rows.length > 0) owner.renewWhenDue();
      // A hold that cannot be read is left to the sweep, which reports it when its time is over.
      const { holds } = readHolds(rows);
      const upstreams = new Map(rows.map((row) => [readText(row, "id"), readText(row, "upstream")]));
      for (const { id } of holds) takeOver.run(owner.id, Math.ceil(instant + ttlMs), id);
      return holds.map((hold) => ({ hold, upstream: upstreams.get(hold.id) ?? "" }));
    },
  };
}

/** The holds of dead owners whose requests can be continued, the oldest first. */
const SELECT_KEPT = `SELECT id, hold, upstream FROM holds WHERE upstream IS NOT NULL
  AND owner <> :self AND owner NOT IN (SELECT id FROM owners WHERE alive_until > :now)
  ORDER BY rowid LIMIT :limit`;

function readHolds(rows: readonly Row[]): LostHolds {
  const holds: StoredHold[] = [];
  const failures: EntryFailure[] = [];
  for (const row of rows) {
    const id = readText(row, "id");
    try {
      holds.push({ ...parseHold(readText(row, "hold")), id });
    } catch (error) {
      failures.push({ id, error });
    }
  }
  return { holds: holds.toSorted(compareAge), failures };
}

/** The usage records, at most one for each id. */
export interface Records {
  has(id: string): boolean;
  find(id: string): UsageRecord | undefined;
  /** Stores a record for delivery. It replaces a record with the same id, which was taken back. */
  put(record: UsageRecord): void;
  /** Takes a record out of the totals. */
  takeBack(record: UsageRecord): void;
}

/** The records in the database, and their totals. */
export function createRecords(
  database: DatabaseSync,
  { totals, outbox }: { readonly totals: HourlyTotals; readonly outbox: Pick<EntryTable, "addRecord"> },
): Records {
  const selectId = database.prepare("SELECT 1 FROM records WHERE id = ?");
  const select = database.prepare("SELECT record FROM records WHERE id = ?");
  const replace = database.prepare(
    `INSERT OR REPLACE INTO records (id, state, time, caller, model, channel, images, charge, period, record,
       outcome, duration_ms, tokens, cost)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  // A record of an older version may not be counted yet.
  const selectCounted = database.prepare("SELECT 1 FROM records WHERE id = ? AND outcome IS NOT NULL");

  return {
    has: (id) => selectId.get(id) !== undefined,
    find: (id) => {
      const row = select.get(id);
      return row && parseRecord(readText(row, "record"));
    },
    put: (record) => {
      const { id, state, period = null } = record;
      const facts = readFacts(record);
      const { outcome, durationMs, tokens } = facts;
      const counted = toCounted(record);
      const { time, caller, model, channel, images, charge, cost } = counted;
      replace.run(
        id,
        state,
        time,
        caller,
        model,
        channel,
        images,
        charge,
        period,
        JSON.stringify(record),
        outcome,
        durationMs,
        tokens,
        cost,
      );
      outbox.addRecord(id, state);
      totals.change(counted, facts, 1);
    },
    takeBack: (record) => {
      if (selectCounted.get(record.id) === undefined) return;
      totals.change(toCounted(record), readFacts(record), -1);
    },
  };
}

function toCounted(record: UsageRecord): CountedRecord {
  const { caller, model, images, charge } = record;
  const { channel, cost = null } = record.state === "settled" ? record : { channel: "" };
  return { time: Date.parse(record.time), caller, model, channel, images, charge, cost };
}
