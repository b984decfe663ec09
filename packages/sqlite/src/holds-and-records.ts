import type { DatabaseSync } from "node:sqlite";
import {
  addDecimals,
  type Balance,
  checkHold,
  checkRecord,
  compareAge,
  createTakenRecords,
  type Decimal,
  type EntryFailure,
  formatDecimal,
  type HoldRecord,
  type HoldResult,
  isAtMost,
  type LostPolicy,
  negateDecimal,
  parseHold,
  parseRecord,
  readDecimal,
  type SettledRecord,
  type TakenRecords,
  toReleasedRecord,
  toUnresolvedRecord,
  type UnresolvedRecord,
  type UsageRecord,
} from "@calotype/core/stores";
import type { Owner } from "./owner.js";
import { type Row, readNumber, readText } from "./read-column.js";

/** Ends holds. Everything here runs inside a transaction. */
export interface Settlement {
  settle(record: SettledRecord): void;
  release(id: string): void;
  sweep(onLost: LostPolicy, own: boolean): Swept;
}

/** The records of a sweep, and the holds that it could not end. */
interface Swept {
  readonly records: readonly UnresolvedRecord[];
  readonly failures: readonly EntryFailure[];
}

/** The parts of the database that a settlement changes. */
export interface SettlementContext {
  readonly balances: Balances;
  readonly holds: Holds;
  readonly records: Records;
}

/** Joins holds, records and balances. */
export function createSettlement({ balances, holds, records }: SettlementContext): Settlement {
  const keep = (record: UsageRecord): void => {
    records.put(record);
    balances.change(record.caller, { settled: readDecimal(record.charge) });
  };
  /** Removes a replaced record from the balance. */
  const takeBack = (record: UsageRecord): void => {
    balances.change(record.caller, { settled: negateDecimal(readDecimal(record.charge)) });
  };

  return {
    settle: (record) => {
      checkRecord(record);
      if (!holds.end(record.id)) {
        const known = records.find(record.id);
        if (known?.state === "settled") return;
        // A sweep has already ended the hold.
        if (known !== undefined) takeBack(known);
      }
      keep(record);
    },
    release: (id) => {
      if (holds.end(id)) return;
      const known = records.find(id);
      if (known?.state !== "unresolved") return;
      takeBack(known);
      keep(toReleasedRecord(known));
    },
    sweep: (onLost, own) => {
      const lost = holds.findLost({ own });
      const swept = lost.holds.map((hold) => {
        const record = toUnresolvedRecord(hold, onLost);
        holds.end(hold.id);
        keep(record);
        return record;
      });
      return { records: swept, failures: lost.failures };
    },
  };
}

/** The open holds. Everything here runs inside a transaction. */
export interface Holds {
  /** Sets money aside if the budget allows it. Does nothing if the id has a hold or a record. */
  open(hold: HoldRecord): HoldResult;
  /** Removes a hold and its amount from the balance. Returns false if there is no such hold. */
  end(id: string): boolean;
  /** The lost holds: holds whose time is over and holds of dead owners; with `own` also those of this owner. */
  findLost(options: { readonly own: boolean }): LostHolds;
}

/** The lost holds, the oldest first, and the holds that cannot be read. */
interface LostHolds {
  readonly holds: readonly HoldRecord[];
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
    `SELECT id, hold FROM holds WHERE expires_at <= :now
       OR (owner = :self AND :own)
       OR (owner <> :self AND owner NOT IN (SELECT id FROM owners WHERE alive_until > :now))`,
  );
  const forgetDead = database.prepare("DELETE FROM owners WHERE alive_until <= ? AND id <> ?");

  return {
    open: (hold) => {
      checkHold(hold);
      if (select.get(hold.id) !== undefined || hasRecord(hold.id)) return { ok: true };
      const amount = readDecimal(hold.amount);
      const balance = balances.read(hold.caller);
      if (hold.budget !== undefined) {
        const spent = addDecimals(readDecimal(balance.settled), readDecimal(balance.held));
        if (!isAtMost(addDecimals(spent, amount), readDecimal(hold.budget))) return { ok: false, balance };
      }
      owner.renewWhenDue();
      insert.run(hold.id, owner.id, Math.ceil(now() + hold.ttlMs), JSON.stringify(hold));
      balances.change(hold.caller, { held: amount });
      return { ok: true };
    },
    end: (id) => {
      const row = remove.get(id);
      if (row === undefined) return false;
      const hold = parseHold(readText(row, "hold"));
      balances.change(hold.caller, { held: negateDecimal(readDecimal(hold.amount)) });
      return true;
    },
    findLost: ({ own }) => {
      const instant = Math.floor(now());
      const rows = selectLost.all({ now: instant, self: owner.id, own: own ? 1 : 0 });
      forgetDead.run(instant, owner.id);
      return readHolds(rows);
    },
  };
}

function readHolds(rows: readonly Row[]): LostHolds {
  const holds: HoldRecord[] = [];
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
  /** Stores a record for delivery. It replaces a record with the same id. */
  put(record: UsageRecord): void;
}

/** The records in the database. */
export function createRecords(database: DatabaseSync): Records {
  const selectId = database.prepare("SELECT 1 FROM records WHERE id = ?");
  const select = database.prepare("SELECT record FROM records WHERE id = ?");
  // A replaced record gets a new sequence, so that it is delivered as the newest.
  const replace = database.prepare(
    `INSERT OR REPLACE INTO records (id, state, time, caller, model, channel, images, charge, record, leased_until)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`,
  );

  return {
    has: (id) => selectId.get(id) !== undefined,
    find: (id) => {
      const row = select.get(id);
      return row && parseRecord(readText(row, "record"));
    },
    put: (record) => {
      const { id, state, caller, model, images, charge } = record;
      const channel = state === "settled" ? record.channel : "";
      const time = Date.parse(record.time);
      replace.run(id, state, time, caller, model, channel, images, charge, JSON.stringify(record));
    },
  };
}

/** A change of a balance. A negative amount lowers it. */
interface BalanceChange {
  readonly settled?: Decimal;
  readonly held?: Decimal;
}

/** The settled and held amounts of each caller. */
export interface Balances {
  /** Returns zeros for an unknown caller. */
  read(caller: string): Balance;
  /** Call it in the same transaction that changes the hold or record. */
  change(caller: string, change: BalanceChange): void;
}

/** The balances in the database. */
export function createBalances(database: DatabaseSync): Balances {
  const select = database.prepare("SELECT settled, held FROM balances WHERE caller = ?");
  const upsert = database.prepare(
    `INSERT INTO balances (caller, settled, held) VALUES (?, ?, ?)
     ON CONFLICT (caller) DO UPDATE SET settled = excluded.settled, held = excluded.held`,
  );

  const read = (caller: string): Balance => {
    const row = select.get(caller);
    if (row === undefined) return { settled: "0", held: "0" };
    return { settled: readText(row, "settled"), held: readText(row, "held") };
  };
  return {
    read,
    change: (caller, { settled, held }) => {
      const balance = read(caller);
      upsert.run(caller, add(balance.settled, settled), add(balance.held, held));
    },
  };
}

function add(sum: string, amount: Decimal | undefined): string {
  return amount === undefined ? sum : formatDecimal(addDecimals(readDecimal(sum), amount));
}

/** The records that are not marked as delivered. Everything here runs inside a transaction. */
export interface RecordOutbox {
  take(limit: number, leaseMs: number): TakenRecords;
  mark(records: readonly UsageRecord[]): void;
}

/** Records that are not leased, after a position in the order in which they were stored. */
export const SELECT_UNDELIVERED = `SELECT sequence, id, record FROM records
  WHERE leased_until IS NOT NULL AND leased_until <= ? AND sequence > ? ORDER BY sequence LIMIT ?`;

/** The records of the database that are not marked as delivered. */
export function createOutbox(database: DatabaseSync, now: () => number): RecordOutbox {
  const select = database.prepare(SELECT_UNDELIVERED);
  const lease = database.prepare("UPDATE records SET leased_until = ? WHERE sequence = ?");
  // A record has one version of each state at most.
  const mark = database.prepare("UPDATE records SET leased_until = NULL WHERE id = ? AND state = ?");

  return {
    take: (limit, leaseMs) => {
      const instant = now();
      const taken = createTakenRecords(limit);
      let behind = 0;
      let rows: readonly Row[];
      do {
        rows = select.all(Math.floor(instant), behind, taken.countWanted());
        for (const row of rows) {
          behind = readNumber(row, "sequence");
          lease.run(Math.ceil(instant + leaseMs), behind);
        }
      } while (taken.add(rows.map((row) => ({ id: readText(row, "id"), json: readText(row, "record") }))));
      return taken;
    },
    mark: (records) => {
      for (const { id, state } of records) mark.run(id, state);
    },
  };
}
