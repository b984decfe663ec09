import {
  createDatabase,
  type Database,
  guardPool,
  migrate,
  quoteSchema,
  type Send,
} from "@calotype/postgres/internal";
import { Pool } from "pg";
import { describeAddress } from "./postgres-address.js";
import {
  type Dialect,
  deleteRows,
  REPLACE_BALANCE,
  type Statement,
  selectPage,
  summarizeTables,
  TIME_DIVISOR,
  toOpenWork,
  toPage,
} from "./sql.js";
import {
  ALL,
  type ColumnType,
  type LiveTables,
  MOVED_TABLES,
  type Progress,
  type Scope,
  STOPPED_MESSAGE,
  type Table,
  type TableRow,
} from "./tables.js";

/** Where the tables are, and whether they are created, or changed if they are of an older version. */
export interface PostgresTablesOptions {
  readonly url: string;
  readonly schema: string;
  readonly mayCreate: boolean;
}

/** What the other commands need of the database. */
export interface PostgresAccess {
  readonly database: Database;
  readonly pool: Pool;
  /** The quoted name of the schema. */
  readonly schema: string;
}

/** How long a statement that reads a whole table may take. */
const TIMEOUT_MS = 3_600_000;
const CONNECT_MS = 10_000;

/** The type of the values of a column when they are sent. */
const SENT: Readonly<Record<ColumnType, string>> = {
  text: "text",
  integer: "bigint",
  money: "numeric",
  time: "float8",
};

/** Opens a pool and the database behind it. */
export function openPool(url: string): {
  readonly pool: Pool;
  readonly database: Database;
  readonly close: () => Promise<void>;
} {
  const pool = new Pool({ connectionString: url, max: 3, connectionTimeoutMillis: CONNECT_MS });
  const unguard = guardPool(pool);
  const close = async (): Promise<void> => {
    await pool.end();
    unguard();
  };
  return { pool, database: createDatabase(pool, TIMEOUT_MS), close };
}

/**
 * The tables of a ledger in a schema of a PostgreSQL database.
 *
 * @throws Error with the reason, without the password, if the schema cannot be used
 */
export async function openPostgresTables(
  options: PostgresTablesOptions,
): Promise<LiveTables & PostgresAccess> {
  const schema = quoteSchema(options.schema);
  const { pool, database, close } = openPool(options.url);
  try {
    await migrate(database, { schema: options.schema, mayChange: options.mayCreate, patient: database });
  } catch (error) {
    await close();
    throw error;
  }
  const dialect = createPostgresDialect(schema);
  const run = async ({ sql, values }: Statement): Promise<Awaited<ReturnType<Database["run"]>>> =>
    await database.run({ sql, values });
  const has = async (name: string): Promise<boolean> =>
    (await run({ sql: "SELECT 1 AS one WHERE to_regclass($1) IS NOT NULL", values: [`${schema}.${name}`] }))
      .length > 0;
  const note = async (send: Send, { caller = "", state }: Progress): Promise<void> => {
    await send({
      sql: `INSERT INTO ${schema}.copy_progress (scope, state) VALUES ($1, $2)
        ON CONFLICT (scope) DO UPDATE SET state = excluded.state`,
      values: [caller, state],
    });
  };
  const forget = async (send: Send, caller: string): Promise<void> => {
    await send({ sql: `DELETE FROM ${schema}.copy_progress WHERE scope = $1`, values: [caller] });
  };
  let isPrepared = false;
  const prepare = async (): Promise<void> => {
    if (isPrepared) return;
    await run({
      sql: `CREATE TABLE IF NOT EXISTS ${schema}.copy_progress (scope text COLLATE "C" PRIMARY KEY, state text NOT NULL)`,
      values: [],
    });
    isPrepared = true;
  };

  return {
    pool,
    database,
    schema,
    description: `the schema ${schema} of ${describeAddress(options.url)}`,
    readIdentity: async () => {
      const [row] = await run({
        sql: "SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), current_database()) AS database",
        values: [],
      });
      return `${String(row?.["database"])} ${schema}`;
    },
    read: async (table, scope, place) =>
      toPage(
        table,
        place,
        (await run(selectPage(dialect, table, scope, place))).map((row) => row ?? {}),
      ),
    summarize: async (tables, scope) =>
      await summarizeTables(dialect, tables, scope, async (statement) => (await run(statement))[0]),
    countOpenWork: async (scope) => toOpenWork((await run(selectOpenWork(schema, scope)))[0]),
    readRevision: async () => {
      const [row] = await run({ sql: `SELECT revision FROM ${schema}.caller_revision`, values: [] });
      return Number(row?.["revision"]);
    },
    readProgress: async ({ caller = "" }) => {
      if (!(await has("copy_progress"))) return undefined;
      const [row] = await run({
        sql: `SELECT state FROM ${schema}.copy_progress WHERE scope = $1`,
        values: [caller],
      });
      return row && String(row["state"]);
    },
    write: async (table, rows, progress) => {
      await prepare();
      await database.transact(async (send) => {
        await addReader(send, schema, table);
        await send(toInsert(schema, table, rows));
        await note(send, progress);
      });
    },
    finish: async (progress, sourceRevision) => {
      await prepare();
      await database.transact(async (send) => {
        await send({
          sql: `UPDATE ${schema}.caller_revision SET revision = greatest(revision, $1::bigint) + 1`,
          values: [sourceRevision],
        });
        await note(send, progress);
      });
    },
    stop: async ({ caller = ALL }) =>
      await database.transact(async (send) => await stop(send, schema, caller)),
    leave: async (caller) => {
      await prepare();
      await database.transact(async (send) => {
        await stop(send, schema, caller);
        await forget(send, caller);
      });
    },
    note: async (progress) => {
      await prepare();
      await database.transact(async (send) => await note(send, progress));
    },
    isStopped: async ({ caller = ALL }) => {
      if (!(await has("stopped_callers"))) return false;
      const rows = await run({
        sql: `SELECT 1 AS one FROM ${schema}.stopped_callers WHERE caller = $1`,
        values: [caller],
      });
      return rows.length > 0;
    },
    start: async ({ caller = ALL }) => {
      if (!(await has("stopped_callers"))) return;
      await database.transact(async (send) => {
        await lockHolds(send, schema);
        await send({ sql: `DELETE FROM ${schema}.stopped_callers WHERE caller = $1`, values: [caller] });
        const left = await send({
          sql: `SELECT 1 AS one FROM ${schema}.stopped_callers LIMIT 1`,
          values: [],
        });
        if (left.length > 0) return;
        await send({
          sql: `DROP TRIGGER IF EXISTS refuse_stopped ON ${schema}.holds;
            DROP FUNCTION IF EXISTS ${schema}.refuse_stopped(); DROP TABLE ${schema}.stopped_callers`,
          values: [],
        });
      });
    },
    remove: async (caller) => {
      await prepare();
      await database.transact(async (send) => {
        // The records come back with what has changed, so their entries of the outbox stay.
        for (const table of MOVED_TABLES) {
          await send(deleteRows(dialect, table, caller));
        }
        await forget(send, caller);
      });
    },
    close,
  };
}

/** The SQL of PostgreSQL. */
export function createPostgresDialect(schema: string): Dialect {
  const parts: Readonly<Record<string, { readonly name: string; readonly condition?: string }>> = {
    // Views of the outbox, see `sql/outbox.ts` of `@calotype/postgres`.
    undelivered_records: { name: `${schema}.outbox` },
    undelivered_alerts: { name: `${schema}.budget_alerts` },
    alert_messages: {
      name: `${schema}.outbox_entries`,
      condition: "endpoint IS NOT NULL AND task = '' AND state = 'waiting'",
    },
  };
  return {
    source: (table) => parts[table.name] ?? { name: `${schema}.${table.name}` },
    read: (column, type) => {
      if (type === "money") return `trim_scale(${column})`;
      return type === "time" ? `${schema}.to_ms(${column})` : column;
    },
    parameter: (position, type) =>
      type === "time" ? `to_timestamp($${position}::float8 / 1000)` : `$${position}::${SENT[type]}`,
    sum: (column, type) => {
      if (type === "money") return `trim_scale(coalesce(sum(${column}), 0))`;
      return `coalesce(sum(${type === "time" ? `${schema}.to_ms(${column}) % ${TIME_DIVISOR}` : column}), 0)`;
    },
  };
}

function toInsert(
  schema: string,
  table: Table,
  rows: readonly TableRow[],
): { sql: string; values: unknown[] } {
  const columns = Object.entries(table.columns);
  const isMessage = table.name === "alert_messages";
  const names = [...columns.map(([name]) => name), ...(isMessage ? ["task", "state", "due_at"] : [])];
  const selected = [
    ...columns.map(([name, type]) => {
      if (type === "time") return `to_timestamp(i.${name} / 1000)`;
      // The JSON of a record, the only column of this name.
      return name === "record" ? "i.record::json" : `i.${name}`;
    }),
    ...(isMessage ? ["''", "'waiting'", "clock_timestamp()"] : []),
  ];
  const { name } = createPostgresDialect(schema).source(table);
  return {
    sql: `INSERT INTO ${name} (${names.join(", ")}) SELECT ${selected.join(", ")}
      FROM unnest(${columns.map(([, type], at) => `$${at + 1}::${SENT[type]}[]`).join(", ")})
        WITH ORDINALITY AS i (${columns.map(([column]) => column).join(", ")}, position)
      ORDER BY i.position ${table.name === "balances" ? REPLACE_BALANCE : ""}`,
    values: columns.map((_, at) => rows.map((row) => row[at])),
  };
}

/** Without a reader, the database keeps no entries of the outbox, see `sql/outbox-readers.ts` of `@calotype/postgres`. */
async function addReader(send: Send, schema: string, table: Table): Promise<void> {
  const kind = { undelivered_records: "record", undelivered_alerts: "alert" }[table.name];
  if (kind === undefined) return;
  await send({
    sql: `INSERT INTO ${schema}.outbox_readers (kind, seen_at) VALUES ($1, clock_timestamp())
      ON CONFLICT (kind) DO UPDATE SET seen_at = excluded.seen_at`,
    values: [kind],
  });
}

function selectOpenWork(schema: string, { caller }: Scope): Statement {
  const ofCaller = "($1::text IS NULL OR caller = $1)";
  return {
    sql: `SELECT (SELECT count(*) FROM ${schema}.holds WHERE task IS NULL AND ${ofCaller}) AS holds,
      (SELECT count(*) FROM ${schema}.tasks WHERE ended_at IS NULL AND ${ofCaller}) AS tasks,
      (SELECT count(*) FROM ${schema}.outbox_entries o WHERE endpoint IS NOT NULL AND task <> '' AND state = 'waiting' AND ${ofCaller}
        AND NOT EXISTS (SELECT FROM ${schema}.disabled_webhooks d WHERE d.caller = o.caller AND d.endpoint = o.endpoint)) AS messages,
      (SELECT count(*) FROM ${schema}.owners WHERE alive_until > clock_timestamp()) AS processes`,
    values: [caller ?? null],
  };
}

/** Waits for the transactions that are making holds. Those that come later see what this transaction has written. Readers go on. */
async function lockHolds(send: Send, schema: string): Promise<void> {
  await send({ sql: `LOCK TABLE ${schema}.holds IN SHARE ROW EXCLUSIVE MODE`, values: [] });
}

/**
 * The trigger exists only while a caller is stopped, so that other ledgers pay nothing for it. Its error has the class of a refusal: the
 * other holds of the same statement are sent again without this one.
 */
async function stop(send: Send, schema: string, caller: string): Promise<void> {
  await lockHolds(send, schema);
  await send({
    sql: `CREATE TABLE IF NOT EXISTS ${schema}.stopped_callers (caller text COLLATE "C" PRIMARY KEY);
      CREATE OR REPLACE FUNCTION ${schema}.refuse_stopped() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
      SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
      BEGIN
        IF EXISTS (SELECT FROM ${schema}.stopped_callers s WHERE s.caller IN (NEW.caller, '${ALL}')) THEN
          RAISE integrity_constraint_violation USING MESSAGE = '${STOPPED_MESSAGE}';
        END IF;
        RETURN NEW;
      END $$`,
    values: [],
  });
  const known = await send({
    sql: "SELECT 1 AS one FROM pg_trigger WHERE tgrelid = to_regclass($1) AND tgname = 'refuse_stopped'",
    values: [`${schema}.holds`],
  });
  if (known.length === 0) {
    await send({
      sql: `CREATE TRIGGER refuse_stopped BEFORE INSERT ON ${schema}.holds FOR EACH ROW
        EXECUTE FUNCTION ${schema}.refuse_stopped()`,
      values: [],
    });
  }
  await send({
    sql: `INSERT INTO ${schema}.stopped_callers (caller) VALUES ($1) ON CONFLICT DO NOTHING`,
    values: [caller],
  });
}
