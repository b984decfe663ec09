import { toInstant } from "@calotype/core/stores";
import { createOldCounter } from "./count-old.js";
import { createDatabase, type SqlQuery } from "./database.js";
import { migrate } from "./migrate.js";
import { guardPool } from "./pool.js";
import { type AnyPostgresPool, toPool } from "./postgres-js.js";
import { quoteSchema } from "./schema-name.js";

/** The options of {@link prunePostgresLedger}. */
export interface PruneOptions {
  readonly pool: AnyPostgresPool;
  /** Default `"calotype"`. */
  readonly schema?: string | undefined;
  /**
   * Records of requests that arrived before this time are removed. ISO 8601 with a zone, such as
   * `2025-01-01T00:00:00Z`. A date without a time, or a time without a zone, is refused.
   */
  readonly before: string;
  /**
   * Whether records that were not delivered to `onUsage` yet are removed too. For gateways without `onUsage`. Default
   * false.
   */
  readonly undelivered?: boolean | undefined;
}

/** The maximum number of records that one transaction removes, so that it is short. */
const BATCH = 5000;
const TIMEOUT_MS = 120_000;

/**
 * Removes old records and returns their number. Balances do not change, so budgets still count the removed charges. Totals of
 * hours do not change either, see `gateway.usage.series`.
 * Keep the records of the last days: if a request is settled late and its record was removed, it is charged twice.
 *
 * @throws RangeError if `before` is not an ISO 8601 time with a zone, and Error if the tables are those of an older version.
 * Then nothing is removed.
 * @example
 * ```ts
 * import { prunePostgresLedger } from "@calotype/postgres";
 * import { Pool } from "pg";
 *
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL });
 * const removed = await prunePostgresLedger({ pool, before: "2025-01-01T00:00:00Z" });
 * ```
 */
export async function prunePostgresLedger(options: PruneOptions): Promise<number> {
  const { schema: name = "calotype", before, undelivered = false } = options;
  const pool = toPool(options.pool);
  const query = toPruneQuery(quoteSchema(name), toInstant(before, "before"), undelivered);
  const database = createDatabase(pool, TIMEOUT_MS);
  const unguard = guardPool(pool);
  try {
    // Totals of records that are not counted would be lost with them.
    await migrate(database, { schema: name, mayChange: false });
    await createOldCounter(database, quoteSchema(name)).run();
    let removed = 0;
    for (;;) {
      const rows = await database.run(query);
      removed += rows.length;
      if (rows.length < BATCH) return removed;
    }
  } finally {
    unguard();
  }
}

function toPruneQuery(schema: string, instant: number, undelivered: boolean): SqlQuery {
  const spared = undelivered ? "" : `AND NOT EXISTS (SELECT FROM ${schema}.outbox o WHERE o.id = r.id)`;
  return {
    sql: `WITH old AS (
        SELECT r.time, r.id FROM ${schema}.records r WHERE r.time < to_timestamp($1::float8 / 1000) AND r.outcome IS NOT NULL ${spared}
          ORDER BY r.time LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
      ), forgotten AS (
        DELETE FROM ${schema}.outbox o USING old WHERE o.id = old.id
      )
      DELETE FROM ${schema}.records r USING old WHERE r.time = old.time AND r.id = old.id RETURNING 1 AS removed`,
    values: [instant],
  };
}
