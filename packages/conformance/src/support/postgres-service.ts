import { randomUUID } from "node:crypto";
import { Pool } from "pg";
import { afterAll } from "vitest";
import { POSTGRES } from "./service.ts";

export { POSTGRES };

/** A schema for one file of tests. */
export interface TestSchema {
  readonly pool: Pool;
  readonly schema: string;
  /** Empties the tables, which is faster than creating them again. */
  readonly empty: () => Promise<void>;
}

const TABLES = [
  "owners",
  "balances",
  "holds",
  "records",
  "outbox_entries",
  "released_holds",
  "tasks",
  "task_shares",
  "disabled_webhooks",
  "callers",
  "caller_keys",
  "caller_audit",
  "period_balances",
  "hourly_totals",
  "refusals",
];

/**
 * How often the rows are deleted before the tables are truncated. DELETE is faster, but leaves dead rows until a vacuum:
 * after hundreds of tests, queries that read a few rows would pass over thousands of dead ones.
 */
const DELETES_PER_TRUNCATE = 60;

/** Names a schema that the first ledger creates. It is removed after the tests of the calling `describe`. */
export function useTestSchema(url: string): TestSchema {
  const schema = `calotype_test_${randomUUID()}`;
  // The tests do not stop the server, so they need not wait for its disk.
  const pool = new Pool({ connectionString: url, options: "-c synchronous_commit=off" });
  afterAll(async () => {
    await pool.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    await pool.end();
  });
  const names = TABLES.map((table) => `"${schema}".${table}`);
  let deletes = 0;
  return {
    pool,
    schema,
    empty: async () => {
      deletes = (deletes + 1) % DELETES_PER_TRUNCATE;
      const isTruncated = deletes === 0;
      await pool.query(
        isTruncated ? `TRUNCATE ${names.join()}` : names.map((name) => `DELETE FROM ${name}`).join(";"),
      );
    },
  };
}
