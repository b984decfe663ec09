import type { Outbox, UsageRecord } from "@calotype/core/billing";
import { toClock } from "./clock.js";
import type { Database } from "./database.js";
import { readText } from "./read-column.js";
import { toRecord } from "./reports.js";

/** The records of a schema that are not marked as delivered. */
export function createOutbox(
  database: Database,
  { schema, now }: { schema: string; now: () => number | null },
): Outbox {
  return {
    takeUndelivered: async (limit, leaseMs) => {
      // Those that somebody else is taking at this moment are passed over, not waited for.
      const rows = await database.run({
        sql: `WITH due AS (
            SELECT sequence FROM ${schema}.outbox WHERE leased_until <= ${toClock("$1")}
              ORDER BY sequence LIMIT $2 FOR UPDATE SKIP LOCKED
          ), leased AS (
            UPDATE ${schema}.outbox o SET leased_until = ${toClock("$1")} + $3::float8 * interval '1 millisecond'
              FROM due WHERE o.sequence = due.sequence RETURNING o.sequence, o.id, o.state
          )
          SELECT r.record::text AS record FROM leased l
            JOIN ${schema}.records r ON r.id = l.id AND r.state = l.state ORDER BY l.sequence`,
        values: [now(), limit, leaseMs],
      });
      return rows.map((row) => toRecord(readText(row, "record")));
    },
    markDelivered: async (records) => {
      if (records.length === 0) return;
      // A record has two versions at most, the unresolved one and the settled one that took its place.
      await database.run({
        sql: `DELETE FROM ${schema}.outbox o USING unnest($1::text[], $2::text[]) AS d (id, state)
          WHERE o.id = d.id AND o.state = d.state`,
        values: [records.map(({ id }) => id), records.map(({ state }: UsageRecord) => state)],
      });
    },
  };
}
