import {
  compareAge,
  type EntryFailure,
  type Ledger,
  type LostPolicy,
  MAX_ALERT_AGE_MS,
  parseHold,
  reportFailures,
  toUnresolvedRecord,
  type UnresolvedRecord,
  withPeriod,
} from "@calotype/core/stores";
import { type Database, type Row, readText, toClock } from "./database.js";
import type { MonthKeeper } from "./months.js";
import type { Owner } from "./owner.js";
import { isRefusal } from "./postgres-error.js";

/** Bounds one transaction. */
const BATCH = 500;

/** It never has a lease. */
const NO_OWNER = "00000000-0000-0000-0000-000000000000";

interface LostHold {
  readonly id: string;
  readonly text: string;
  readonly record: UnresolvedRecord;
}

/** The result for some lost holds. */
interface Ended {
  readonly records: UnresolvedRecord[];
  readonly failures: EntryFailure[];
}

/**
 * Ends the lost holds of a schema, but not those of tasks. They are found without a lock and then ended by id, so that each
 * is ended once even if several processes find it.
 */
export function createSweep(
  database: Database,
  { schema, owner, months }: { schema: string; owner: Owner; months: MonthKeeper },
): Ledger["sweep"] {
  const findLost = async (own: boolean, except: readonly string[]): Promise<readonly Row[]> =>
    await database.run({
      sql: `SELECT h.id, h.hold::text AS hold FROM ${schema}.holds h
        WHERE h.task IS NULL
          AND (h.expires_at <= ${toClock("$1")} OR (h.upstream IS NULL AND (h.owner <> $2 OR $3::boolean)))
          AND (h.owner = $2 OR NOT EXISTS (
            SELECT FROM ${schema}.owners o WHERE o.id = h.owner AND o.alive_until > ${toClock("$1")}))
          AND h.id <> ALL ($4::text[])
        ORDER BY h.expires_at, h.id LIMIT ${BATCH}`,
      values: [owner.now(), owner.id, own, except],
    });
  const endTogether = async (lost: readonly LostHold[]): Promise<UnresolvedRecord[]> => {
    const records = lost.map(({ record }) => record);
    const rows = await database.run({
      sql: `SELECT ended FROM ${schema}.end_lost($1, $2, $3, $4, $5, $6, $7) AS ended`,
      values: [
        records.map(({ id }) => id),
        lost.map(({ text }) => text),
        records.map(({ time }) => Date.parse(time)),
        records.map(({ caller }) => caller),
        records.map(({ model }) => model),
        records.map(({ charge }) => charge),
        records.map((record) => JSON.stringify(record)),
      ],
    });
    const ended = new Set(rows.map((row) => readText(row, "ended")));
    return records.filter(({ id }) => ended.has(id));
  };
  /**
   * Ends the holds one by one. If the server refuses one of them, for example because its names do not fit into an
   * index, only that one fails.
   */
  const endEach = async (lost: readonly LostHold[], ended: Ended): Promise<void> => {
    if (lost.length === 0) return;
    try {
      ended.records.push(...(await endTogether(lost)));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (lost.length === 1) {
        ended.failures.push(...lost.map(({ id }) => ({ id, error })));
        return;
      }
      const middle = Math.ceil(lost.length / 2);
      await endEach(lost.slice(0, middle), ended);
      await endEach(lost.slice(middle), ended);
    }
  };
  const endLost = async (onLost: LostPolicy, own: boolean): Promise<Ended> => {
    const ended: Ended = { records: [], failures: [] };
    for (;;) {
      const rows = await findLost(
        own,
        ended.failures.map(({ id }) => id),
      );
      const lost = readLost(rows, onLost, ended.failures);
      await endEach(
        lost.toSorted((one, other) => compareAge(one.record, other.record)),
        ended,
      );
      if (rows.length < BATCH) return ended;
    }
  };
  /** Holds of this owner whose requests another process can continue. From now on they belong to no one. */
  const leave = async (): Promise<void> => {
    await database.run({
      sql: `UPDATE ${schema}.holds SET owner = '${NO_OWNER}' WHERE upstream IS NOT NULL AND owner = $1`,
      values: [owner.id],
    });
  };
  /** A marker of a release is needed while the statement of its hold may still reach the server. */
  const forgetDead = async (): Promise<void> => {
    await database.run({
      sql: `WITH old AS (
          DELETE FROM ${schema}.released_holds WHERE released_at < clock_timestamp() - interval '1 day'
        )
        DELETE FROM ${schema}.owners WHERE id IN (
          SELECT id FROM ${schema}.owners WHERE alive_until <= ${toClock("$1")} AND id <> $2 FOR UPDATE SKIP LOCKED)`,
      values: [owner.now(), owner.id],
    });
    await database.run({ sql: `SELECT ${schema}.forget_unread()`, values: [] });
    await database.run({
      sql: `SELECT ${schema}.forget_alerts(${toClock("$1")} - ${MAX_ALERT_AGE_MS} * interval '1 millisecond')`,
      values: [owner.now()],
    });
  };

  return async ({ onLost, own = false, onFailure }) => {
    const { records, failures } = await endLost(onLost, own);
    if (own) await leave();
    await forgetDead();
    await months.run();
    reportFailures(failures, onFailure);
    return records.toSorted(compareAge);
  };
}

/** Reads the holds that can be read, and adds the others to the failures. */
function readLost(rows: readonly Row[], onLost: LostPolicy, failures: EntryFailure[]): LostHold[] {
  return rows.flatMap((row) => {
    const [id, text] = [readText(row, "id"), readText(row, "hold")];
    try {
      const hold = parseHold(text);
      return [{ id, text, record: { ...withPeriod(toUnresolvedRecord(hold, onLost), hold.periodKey), id } }];
    } catch (error) {
      failures.push({ id, error });
      return [];
    }
  });
}
