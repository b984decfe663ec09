import { Pool } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { createPostgresDialect, openPostgresTables } from "./postgres-tables.js";
import { selectPage } from "./sql.js";
import { openSqliteTables, SQLITE_DIALECT } from "./sqlite-tables.js";
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
const OUTBOX = new Set(["outbox", "outbox_entries"]);
const OUTBOX_COLUMNS =
  `sequence kind id record record_time due_at state attempts last_error last_attempt caller endpoint task period threshold
  budget settled created_at`.split(/\s+/);

interface Column {
  readonly table: string;
  readonly column: string;
}

/** The columns that neither are copied nor are named above. */
const findUnknown = (columns: readonly Column[]): Column[] =>
  columns.filter(({ table, column }) => {
    if (OUTBOX.has(table)) return !OUTBOX_COLUMNS.includes(column);
    if (table in LEFT_OUT || `${table}.${column}` in LEFT_OUT_COLUMNS) return false;
    return TABLES.find(({ name }) => name === table)?.columns[column] === undefined;
  });

/** Pages that must be read by an index: of the tables that may have millions of rows. */
const PAGES = TABLES.filter(({ name }) => ["records", "hourly_totals"].includes(name)).flatMap((table) => [
  { table, scope: {}, name: `all ${table.name}` },
  ...(table.name === "records"
    ? [{ table, scope: { caller: "shop" }, name: "the records of a caller" }]
    : []),
]);
const toPlace = (keys: number) => ({ after: Array.from({ length: keys }, () => 0), rows: 1 });

const openTables = () => {
  const tables = openSqliteTables({ path: ":memory:", mayCreate: true });
  onTestFinished(() => tables.close());
  return tables;
};

describe("in SQLite", () => {
  it("every table and every column is copied, or it is said why not", () => {
    const columns = openTables()
      .database.prepare(
        `SELECT t.name AS name, c.name AS column FROM sqlite_schema AS t CROSS JOIN pragma_table_info(t.name) AS c
          WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'`,
      )
      .all()
      .map(({ name, column }) => ({ table: String(name), column: String(column) }));
    expect(findUnknown(columns)).toEqual([]);
    expect(new Set(columns.map(({ table }) => table)).size).toBeGreaterThan(15);
  });

  it.each(PAGES)("$name are read by an index", ({ table, scope }) => {
    const { sql, values } = selectPage(SQLITE_DIALECT, table, scope, toPlace(table.key.length));
    const plan = openTables()
      .database.prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...values);
    expect(JSON.stringify(plan)).toContain("SEARCH");
    expect(JSON.stringify(plan)).not.toContain("TEMP B-TREE");
  });
});

const ADDRESS = process.env["CALOTYPE_TEST_POSTGRES"] ?? "postgres://postgres@127.0.0.1:5432/test";

it("in PostgreSQL every table and every column is copied, and pages are read by an index", async (test) => {
  const pool = new Pool({ connectionString: ADDRESS, connectionTimeoutMillis: 5_000, max: 1 });
  const schema = `calotype_test_tables_${process.pid}`;
  onTestFinished(async () => {
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`).catch(() => undefined);
    await pool.end();
  });
  const isThere = await pool.query("SELECT 1").then(
    () => true,
    () => false,
  );
  if (!isThere)
    return test.skip("needs PostgreSQL at its usual address or at that of CALOTYPE_TEST_POSTGRES");
  await (await openPostgresTables({ url: ADDRESS, schema, mayCreate: true })).close();
  const { rows } = await pool.query<Column>(
    `SELECT c.relname AS table, a.attname AS column FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0
        AND NOT a.attisdropped`,
    [schema],
  );
  expect(findUnknown(rows)).toEqual([]);
  expect(new Set(rows.map(({ table }) => table)).size).toBeGreaterThan(15);

  await pool.query("SET enable_seqscan = off; SET enable_bitmapscan = off");
  for (const { table, scope } of PAGES) {
    const page = selectPage(createPostgresDialect(schema), table, scope, toPlace(table.key.length));
    const plan = await pool.query<{ "QUERY PLAN": string }>(`EXPLAIN ${page.sql}`, [...page.values]);
    const lines = plan.rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(lines).toMatch(/Index Scan/);
    expect(lines).not.toMatch(/-> +(?:Incremental )?Sort +\(/);
  }
});
