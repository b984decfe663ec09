import { Pool } from "pg";
import { expect, it } from "vitest";
import { openPostgresTables } from "./postgres-tables.js";
import { openSqliteTables } from "./sqlite-tables.js";
import { TABLES } from "./tables.js";

/** Tables that are not copied, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  owners: "processes; none runs during a copy",
  holds: "a copy begins when there are none",
  tasks: "those that have not ended prevent a copy, the others stay behind",
  task_inputs: "as tasks",
  task_turns: "as tasks",
  task_turn: "as tasks",
  task_upstreams: "as tasks",
  task_shares: "as tasks",
  task_share_sums: "as tasks",
  webhook_queues: "filled from the messages",
  caller_revision: "becomes higher than both",
  released_holds: "holds whose statement may still arrive; no process runs",
  outbox_readers: "set with the first entry",
  format: "the version of the tables",
};
/** Columns of copied tables that are not copied, and why. */
const LEFT_OUT_COLUMNS: Readonly<Record<string, string>> = {
  "records.sequence": "the order of arrival in SQLite, which no report uses",
  "records.leased_until": "not used any more",
  "caller_audit.sequence": "each database has its own, in the same order",
  "refusals.sequence": "each database has its own, in the same order",
};
/** The outbox of both databases is copied by kinds. */
const OUTBOX = ["outbox", "outbox_entries"];
const OUTBOX_COLUMNS = [
  ...[
    "sequence",
    "kind",
    "id",
    "record",
    "due_at",
    "state",
    "attempts",
    "last_error",
    "last_attempt",
    "caller",
  ],
  ...["endpoint", "task", "period", "threshold", "budget", "settled", "created_at"],
];

/** Compares the columns of a database with the list. */
function expectAllKnown(columns: readonly { readonly table: string; readonly column: string }[]): void {
  const unknown = columns.filter(({ table, column }) => {
    if (OUTBOX.includes(table)) return !OUTBOX_COLUMNS.includes(column);
    if (table in LEFT_OUT || `${table}.${column}` in LEFT_OUT_COLUMNS) return false;
    return TABLES.find(({ name }) => name === table)?.columns[column] === undefined;
  });
  expect(unknown).toEqual([]);
  expect(new Set(columns.map(({ table }) => table)).size).toBeGreaterThan(15);
}

it("every table and every column of SQLite is copied, or it is said why not", async () => {
  const tables = openSqliteTables({ path: ":memory:", mayCreate: true });
  const rows = tables.database
    .prepare(
      `SELECT t.name AS name, c.name AS column FROM sqlite_schema AS t CROSS JOIN pragma_table_info(t.name) AS c
        WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'`,
    )
    .all();
  expectAllKnown(rows.map(({ name, column }) => ({ table: String(name), column: String(column) })));
  await tables.close();
});

const URL = process.env["CALOTYPE_TEST_POSTGRES"] ?? "postgres://postgres@127.0.0.1:5432/test";

it("every table and every column of PostgreSQL is copied, or it is said why not", async (test) => {
  const pool = new Pool({ connectionString: URL, connectionTimeoutMillis: 5_000 });
  const schema = `calotype_test_tables_${process.pid}`;
  try {
    await pool.query("SELECT 1").catch(() => test.skip("needs PostgreSQL"));
    const tables = await openPostgresTables({ url: URL, schema, mayCreate: true });
    const { rows } = await pool.query<{ table: string; column: string }>(
      `SELECT c.relname AS table, a.attname AS column FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped`,
      [schema],
    );
    expectAllKnown(rows);
    await tables.close();
  } finally {
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`).catch(() => undefined);
    await pool.end();
  }
});
