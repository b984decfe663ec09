import { createTakenRecords, type Outbox, type UsageRecord } from "@calotype/core/stores";
import { type Database, type Row, readText, toClock } from "./database.js";

/** The dependencies of an outbox. */
export interface OutboxOptions {
  readonly schema: string;
  readonly now: () => number | null;
}

/** The records of a schema that are not marked as delivered. */
export function createOutbox(database: Database, { schema, now }: OutboxOptions): Outbox {
  /**
   * Leases the oldest records after a position in the order. Skips records that another process is leasing at the
   * same time.
   */
  const lease = async (behind: string, limit: number, leaseMs: number): Promise<readonly Row[]> =>
    await database.run({
      sql: `WITH due AS (
          SELECT sequence FROM ${schema}.outbox WHERE leased_until <= ${toClock("$1")} AND sequence > $4
            ORDER BY sequence LIMIT $2 FOR UPDATE SKIP LOCKED
        ), leased AS (
          UPDATE ${schema}.outbox o SET leased_until = ${toClock("$1")} + $3::float8 * interval '1 millisecond'
            FROM due WHERE o.sequence = due.sequence RETURNING o.sequence, o.id, o.state
        )
        SELECT l.sequence, l.id, r.record::text AS record FROM leased l
          JOIN ${schema}.records r ON r.id = l.id AND r.state = l.state ORDER BY l.sequence`,
      values: [now(), limit, leaseMs, behind],
    });

  return {
    takeUndelivered: async (limit, leaseMs, onUnreadable) => {
      const taken = createTakenRecords(limit);
      let behind = "0";
      let rows: readonly Row[];
      do {
        rows = await lease(behind, taken.countWanted(), leaseMs);
        behind = rows.length === 0 ? behind : readText(rows.at(-1), "sequence");
      } while (taken.add(rows.map((row) => ({ id: readText(row, "id"), json: readText(row, "record") }))));
      for (const failure of taken.failures) onUnreadable?.(failure);
      return taken.records;
    },
    markDelivered: async (records) => {
      if (records.length === 0) return;
      // A record has one version of each state at most.
      await database.run({
        sql: `DELETE FROM ${schema}.outbox o USING unnest($1::text[], $2::text[]) AS d (id, state)
          WHERE o.id = d.id AND o.state = d.state`,
        values: [records.map(({ id }) => id), records.map(({ state }: UsageRecord) => state)],
      });
    },
  };
}
