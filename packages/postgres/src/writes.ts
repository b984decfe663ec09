import {
  checkHold,
  checkRecord,
  type HoldRecord,
  type HoldResult,
  isName,
  type Ledger,
  readFacts,
  type SettledRecord,
  type SettleResult,
  toInstant,
  type UsageFacts,
  withPeriod,
} from "@calotype/core/stores";
import { createBatchQueue } from "./batch-queue.js";
import { type Database, type Row, readNumber, readText, type SqlQuery } from "./database.js";
import type { Owner } from "./owner.js";
import type { Periods } from "./periods.js";
import { isRefusal } from "./postgres-error.js";
import { readFlag } from "./task-rows.js";

/** Writes holds and their ends. Calls that are made at the same time are sent to the database together. */
export interface Writes extends Pick<Ledger, "hold" | "settle" | "release"> {
  /** Resolves when all calls so far are done or have failed. */
  settled(): Promise<void>;
}

/** What writes work with. */
export interface WritesParts {
  readonly statements: Statements;
  readonly unsureHolds: UnsureHolds;
  readonly unsureSettlements: UnsureHolds;
  /** Resolves when the tables can be written to. */
  readonly ready: () => Promise<void>;
  readonly timeoutMs: number;
}

/** One queue for each kind, because a statement does only one kind. */
export function createWrites(parts: WritesParts): Writes {
  const { statements, unsureHolds, unsureSettlements, ready, timeoutMs } = parts;
  const settlements = createBatchQueue(timeoutMs, async (entries: readonly RecordEntry[]) => {
    const late = await statements.settle(entries);
    return entries.map(({ id }) => ({ isLate: late.has(id) }));
  });
  const releases = createBatchQueue(timeoutMs, async (entries: readonly ReleaseEntry[]) => {
    await statements.release(entries);
    return entries.map(() => undefined);
  });
  const release = async (id: string): Promise<void> => {
    await releases.run({ id, unsureCaller: unsureHolds.callerOf(id) });
    unsureHolds.forget(id);
  };
  /** Not awaited. If it fails, the hold stays until its time is over. */
  const releaseLate = ({ id }: Pick<HoldEntry, "id">): void => void release(id).catch(() => undefined);
  const holds = createBatchQueue(
    timeoutMs,
    (entries: readonly HoldEntry[]) => statements.hold(entries),
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
  const runSettlement = async (entry: RecordEntry): Promise<SettleResult> => {
    try {
      return await settlements.run(entry);
    } catch (error) {
      // The statement may have been committed.
      if (!isRefusal(error)) unsureSettlements.add(entry);
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
      const result = await runSettlement(entry);
      // Its record prevents a late statement from making the hold.
      unsureHolds.forget(entry.id);
      unsureSettlements.forget(entry.id);
      return result;
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

/** Holds and their ends, many in one transaction. No two of one call have the same id. */
export interface Statements {
  /** The results are in the order of the holds, which is the order in which the budgets are checked. */
  hold(holds: readonly HoldEntry[]): Promise<readonly HoldResult[]>;
  /** Returns the ids of those whose hold a sweep had ended. */
  settle(records: readonly RecordEntry[]): Promise<ReadonlySet<string>>;
  release(releases: readonly ReleaseEntry[]): Promise<void>;
}

/** The dependencies of the statements. */
export interface StatementsOptions {
  readonly schema: string;
  readonly owner: Owner;
  /** Gets the holds whose statement was sent again. */
  readonly unsureHolds: UnsureHolds;
  /** Gets the settlements whose statement was sent again. */
  readonly unsureSettlements: UnsureHolds;
  readonly periods: Periods;
  /** Called after a statement that wrote an alert about a budget. */
  readonly tellAlerts: () => void;
}

/** The statements in a schema. They call the functions of the schema. */
export function createStatements(
  database: Database,
  { schema, owner, unsureHolds, unsureSettlements, periods, tellAlerts }: StatementsOptions,
): Statements {
  return {
    hold: async (holds) => {
      const refused = await periods.run(() =>
        database.call(({ number, msLeft }) => {
          // The first statement may still reach the server, although its connection was lost.
          if (number > 0) for (const hold of holds) unsureHolds.add(hold);
          return toHoldQuery(holds, msLeft);
        }),
      );
      const byPlace = new Map(refused.map((row) => [readNumber(row, "refused"), row]));
      return holds.map((_, at) => toResult(byPlace.get(at + 1)));
    },
    settle: async (records) => {
      const [row] = await database.call(({ number }) => {
        if (number > 0) for (const record of records) unsureSettlements.add(record);
        return {
          sql: `SELECT has_alert, array_to_json(late)::text AS late FROM ${schema}.settle_calls($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
          values: [
            records.map(({ id }) => id),
            records.map(({ instant }) => instant),
            records.map(({ caller }) => caller),
            records.map(({ model }) => model),
            records.map(({ channel }) => channel),
            records.map(({ images }) => images),
            records.map(({ charge }) => charge),
            records.map(({ text }) => text),
            owner.now(),
            records.map(({ facts }) => facts.outcome),
            records.map(({ facts }) => facts.durationMs),
            records.map(({ facts }) => facts.tokens),
          ],
        };
      });
      if (readFlag(row, "has_alert")) tellAlerts();
      const late = readLate(row);
      // To a statement that was committed before, its own record is one that was settled already.
      const unsure = records.filter(
        ({ id }) => !late.has(id) && unsureSettlements.callerOf(id) !== undefined,
      );
      return unsure.length === 0 ? late : new Set([...late, ...(await findLate(unsure.map(({ id }) => id)))]);
    },
    release: async (releases) => {
      const sure = releases.filter(({ unsureCaller }) => unsureCaller === undefined);
      if (sure.length > 0) {
        const values = [sure.map(({ id }) => id)];
        await database.call(() => ({ sql: `SELECT ${schema}.release($1)`, values }));
      }
      const unsure = releases.filter(({ unsureCaller }) => unsureCaller !== undefined);
      if (unsure.length > 0) {
        const values = [unsure.map(({ id }) => id), unsure.map(({ unsureCaller }) => unsureCaller)];
        await database.call(() => ({ sql: `SELECT ${schema}.release_unsure($1, $2)`, values }));
      }
    },
  };

  /** Those of the ids whose record is marked as late. */
  async function findLate(ids: readonly string[]): Promise<readonly string[]> {
    const rows = await database.run({
      sql: `SELECT id FROM ${schema}.records WHERE id = ANY ($1) AND state = 'settled' AND record ->> 'late' = 'true'`,
      values: [ids],
    });
    return rows.map((row) => readText(row, "id"));
  }

  function toHoldQuery(holds: readonly HoldEntry[], patienceMs: number): SqlQuery {
    return {
      sql: `SELECT refused, settled_then, held_then
        FROM ${schema}.make_holds($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      values: [
        holds.map(({ id }) => id),
        holds.map(({ caller }) => caller),
        holds.map(({ amount }) => amount),
        holds.map(({ budget }) => budget ?? null),
        holds.map(({ ttlMs }) => ttlMs),
        holds.map(({ text, period }) => periods.addTo(text, period)),
        owner.id,
        owner.leaseMs,
        owner.now(),
        patienceMs,
      ],
    };
  }
}

function toResult(refusal: Row): HoldResult {
  if (refusal === undefined) return { ok: true };
  const balance = { settled: readText(refusal, "settled_then"), held: readText(refusal, "held_then") };
  return { ok: false, balance };
}

/** A copy of a hold, so that its caller cannot change it before it is written. */
type HoldEntry = Pick<HoldRecord, "id" | "caller" | "amount" | "budget" | "period" | "ttlMs"> & {
  readonly text: string;
};

/** A settled record as it is written. */
type RecordEntry = Pick<SettledRecord, "id" | "caller" | "model" | "channel" | "images" | "charge"> & {
  /** Milliseconds since 1970. */
  readonly instant: number;
  readonly text: string;
  readonly facts: UsageFacts;
};

/** The input of a release. */
interface ReleaseEntry {
  readonly id: string;
  /** The caller, if the hold may not have been made yet. */
  readonly unsureCaller: string | undefined;
}

/** Throws a `RangeError` if a ledger cannot keep the hold. */
function toHoldEntry(hold: HoldRecord): HoldEntry {
  checkHold(hold);
  const { id, caller, amount, budget, period, ttlMs } = hold;
  return { id, caller, amount, budget, period, ttlMs, text: JSON.stringify(hold) };
}

/** Throws a `RangeError` if a ledger cannot keep the record. */
function toRecordEntry(record: SettledRecord): RecordEntry {
  checkRecord(record);
  const { id, caller, model, channel, images, charge } = record;
  const instant = toInstant(record.time, "time");
  return {
    id,
    caller,
    model,
    channel,
    images,
    charge,
    instant,
    text: writeRecord(record),
    facts: readFacts(record),
  };
}

/** The ids of the records that were late, as JSON. */
function readLate(row: Row | undefined): ReadonlySet<string> {
  const late: unknown = row === undefined ? [] : JSON.parse(readText(row, "late"));
  return new Set(Array.isArray(late) ? late.map(String) : []);
}

/** The JSON of a settled record, to which the database adds the period of its hold. A known cost is first, see `sql/costs.ts`. */
export function writeRecord(record: SettledRecord): string {
  const { cost } = record;
  const written = record.period === undefined ? record : withPeriod(record, undefined);
  return JSON.stringify(cost === undefined ? written : { cost, ...written });
}

/**
 * Holds for which it is unknown whether they were made or will be made: their statement failed, or was sent twice. The same for
 * settlements.
 */
export interface UnsureHolds {
  add(hold: { readonly id: string; readonly caller: string }): void;
  /** The caller of the hold; `undefined` if the hold is not unsure. */
  callerOf(id: string): string | undefined;
  /** The hold was released or settled, or the settlement has succeeded. */
  forget(id: string): void;
}

/** The maximum number of unsure holds. Core releases each of them soon; beyond this number the oldest is forgotten. */
const MOST = 10_000;

/** Keeps the unsure holds in the memory of this process. */
export function createUnsureHolds(): UnsureHolds {
  const callers = new Map<string, string>();
  return {
    add: ({ id, caller }) => {
      const [oldest] = callers.keys();
      if (callers.size >= MOST && oldest !== undefined) callers.delete(oldest);
      callers.set(id, caller);
    },
    callerOf: (id) => callers.get(id),
    forget: (id) => void callers.delete(id),
  };
}
