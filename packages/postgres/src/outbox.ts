import { type Outbox, parseRecord, type UsageRecord } from "@calotype/core/billing";
import { toClock } from "./clock.js";
import type { Database } from "./database.js";
import { type Row, readText } from "./read-column.js";

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
      const records: UsageRecord[] = [];
      let behind = "0";
      for (;;) {
        const wanted = limit - records.length;
        const rows = await lease(behind, wanted, leaseMs);
        for (const row of rows) {
          try {
            records.push(parseRecord(readText(row, "record")));
          } catch (error) {
            onUnreadable?.({ id: readText(row, "id"), error });
          }
        }
        // More records are leased in place of those that cannot be read, so that readable records do not wait.
        if (rows.length < wanted || records.length === limit) return records;
        behind = readText(rows.at(-1), "sequence");
      }
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
