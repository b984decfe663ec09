import { createDatabase } from "./database.js";
import { guardPool } from "./guard-pool.js";
import { migrate } from "./migrate.js";
import type { PostgresPool } from "./pool.js";

/** The changes wait for transactions that use the tables: 5 seconds for each lock, and two minutes in total. */
const TIMEOUT_MS = 120_000;

/**
 * Makes the tables of a ledger, or brings them to the format of this version. For a step of a deployment whose user
 * may do it, where the gateway's own user may not; otherwise a ledger does it by itself. May run many times, and many
 * at once. Rejects with the reason where the schema cannot be used.
 *
 * @example
 * ```ts
 * import { migratePostgresLedger } from "@calotype/postgres";
 * import { Pool } from "pg";
 *
 * const pool = new Pool({ connectionString: process.env.ADMIN_DATABASE_URL });
 * await migratePostgresLedger({ pool });
 * await pool.end();
 * ```
 */
export async function migratePostgresLedger(options: {
  readonly pool: PostgresPool;
  /** Default `"calotype"`. */
  readonly schema?: string | undefined;
}): Promise<void> {
  const { pool, schema = "calotype" } = options;
  const unguard = guardPool(pool);
  try {
    await migrate(createDatabase(pool, TIMEOUT_MS), { schema, mayChange: true });
  } finally {
    unguard();
  }
}
