import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { addDecimalFunctions, openDatabase, retryWhileBusy } from "@calotype/sqlite/internal";
import {
  type Dialect,
  deleteRows,
  REPLACE_BALANCE,
  type SelectedRow,
  type Statement,
  selectPage,
  summarizeTables,
  TIME_DIVISOR,
  toOpenWork,
  toPage,
} from "./sql.js";
import {
  ALL,
  type LiveTables,
  MOVED_TABLES,
  type Progress,
  type Scope,
  STOPPED_MESSAGE,
  type Table,
} from "./tables.js";

/** Tables of the list that are a part of a table of SQLite. */
const PARTS: Readonly<Record<string, { readonly name: string; readonly condition: string }>> = {
  undelivered_records: { name: "outbox", condition: "kind = 'record'" },
  undelivered_alerts: { name: "outbox", condition: "kind = 'alert'" },
  alert_messages: { name: "outbox", condition: "kind = 'message' AND task IS NULL AND state = 'waiting'" },
};

/** Columns that a part of a table has besides, with their values in SQL. Leases are not copied. */
const ADDED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  undelivered_records: { kind: "'record'", due_at: "0" },
  undelivered_alerts: {
    kind: "'alert'",
    due_at: "0",
    state: "'waiting'",
    // As createAlert of @calotype/core writes it.
    id: "iif(period = '', 'total', period) || ' ' || CAST(threshold AS INTEGER) || ' ' || caller",
  },
  alert_messages: { kind: "'message'", due_at: "0", state: "'waiting'" },
};

/** The SQL of SQLite. */
export const SQLITE_DIALECT: Dialect = {
  source: (table) => PARTS[table.name] ?? { name: table.name },
  read: (column) => column,
  parameter: () => "?",
  sum: (column, type) => {
    if (type === "money") return `sum_decimals(${column}) FILTER (WHERE ${column} IS NOT NULL)`;
    return `CAST(coalesce(sum(${type === "time" ? `${column} % ${TIME_DIVISOR}` : column}), 0) AS TEXT)`;
  },
};

/** How far copies into this ledger are, by the caller that is copied; '' for a copy of all. */
const CREATE_PROGRESS =
  "CREATE TABLE IF NOT EXISTS copy_progress (scope TEXT PRIMARY KEY, state TEXT NOT NULL) STRICT";

/** Milliseconds for which a write waits for the gateways on the file. */
const PATIENCE_MS = 30_000;

/** What an SQLite file is opened for. */
export interface SqliteTablesOptions {
  readonly path: string;
  /** Whether the file is created, or changed if it is of an older version. */
  readonly mayCreate: boolean;
}

/**
 * The tables of a ledger in an SQLite file.
 *
 * @throws Error with the reason if the file cannot be used
 */
export function openSqliteTables({ path, mayCreate }: SqliteTablesOptions): LiveTables & SqliteAccess {
  const database = openDatabase(path, mayCreate);
  addDecimalFunctions(database);
  const all = async ({ sql, values }: Statement): Promise<SelectedRow[]> =>
    await retryWhileBusy(() => database.prepare(sql).all(...values), PATIENCE_MS);
  const transact = async (work: () => void): Promise<void> =>
    await retryWhileBusy(() => runTransaction(database, work), PATIENCE_MS);
  const run = (sql: string, ...values: Statement["values"]): void =>
    void database.prepare(sql).run(...values);
  const has = async (name: string): Promise<boolean> =>
    (await all({ sql: "SELECT 1 AS one FROM sqlite_schema WHERE name = ?", values: [name] })).length > 0;

  const note = ({ caller = "", state }: Progress): void => {
    database.exec(CREATE_PROGRESS);
    run("INSERT OR REPLACE INTO copy_progress (scope, state) VALUES (?, ?)", caller, state);
  };

  const stop = (caller: string): void => {
    database.exec(CREATE_STOPPED);
    run("INSERT OR IGNORE INTO stopped_callers (caller) VALUES (?)", caller);
  };

  return {
    database,
    description: `the SQLite file ${resolve(path)}`,
    readIdentity: async () => {
      const { dev, ino } = statSync(path, { bigint: true });
      return `${dev} ${ino}`;
    },
    read: async (table, scope, place) =>
      toPage(table, place, await all(selectPage(SQLITE_DIALECT, table, scope, place))),
    summarize: async (tables, scope) =>
      await summarizeTables(SQLITE_DIALECT, tables, scope, async (statement) => (await all(statement))[0]),
    countOpenWork: async (scope) => toOpenWork((await all(selectOpenWork(scope)))[0]),
    readRevision: async () => {
      const [row] = await all({ sql: "SELECT revision FROM caller_revision", values: [] });
      return Number(row?.["revision"]);
    },
    readProgress: async ({ caller = "" }) => {
      if (!(await has("copy_progress"))) return undefined;
      const [row] = await all({ sql: "SELECT state FROM copy_progress WHERE scope = ?", values: [caller] });
      return row && String(row["state"]);
    },
    write: async (table, rows, progress) => {
      const insert = database.prepare(writeInsert(table));
      await transact(() => {
        for (const row of rows) insert.run(...row);
        note(progress);
      });
    },
    finish: async (progress, sourceRevision) =>
      await transact(() => {
        run("UPDATE caller_revision SET revision = max(revision, ?) + 1", sourceRevision);
        database.exec(FILL_WEBHOOK_QUEUES);
        note(progress);
      }),
    stop: async ({ caller = ALL }) => await transact(() => stop(caller)),
    leave: async (caller) =>
      await transact(() => {
        stop(caller);
        database.exec(CREATE_PROGRESS);
        run("DELETE FROM copy_progress WHERE scope = ?", caller);
      }),
    note: async (progress) => await transact(() => note(progress)),
    isStopped: async ({ caller = ALL }) => {
      if (!(await has("stopped_callers"))) return false;
      const rows = await all({
        sql: "SELECT 1 AS one FROM stopped_callers WHERE caller = ?",
        values: [caller],
      });
      return rows.length > 0;
    },
    start: async ({ caller = ALL }) => {
      if (!(await has("stopped_callers"))) return;
      await transact(() => {
        run("DELETE FROM stopped_callers WHERE caller = ?", caller);
        if (database.prepare("SELECT 1 FROM stopped_callers").get() === undefined)
          database.exec(DROP_STOPPED);
      });
    },
    remove: async (caller) =>
      await transact(() => {
        database.exec(CREATE_PROGRESS);
        // The records come back with what has changed, so their entries of the outbox stay.
        const trigger = database.prepare("SELECT sql FROM sqlite_schema WHERE name = 'record_removed'").get();
        database.exec("DROP TRIGGER record_removed");
        for (const table of MOVED_TABLES) {
          const { sql, values } = deleteRows(SQLITE_DIALECT, table, caller);
          run(sql, ...values);
        }
        database.exec(String(trigger?.["sql"]));
        run("DELETE FROM copy_progress WHERE scope = ?", caller);
      }),
    close: async () => database.close(),
  };
}

/** What the other commands need of the file. */
export interface SqliteAccess {
  readonly database: DatabaseSync;
}

/** Runs work in a transaction that is undone if it throws. */
export function runTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function writeInsert(table: Table): string {
  const columns = Object.keys(table.columns);
  const added = Object.entries(ADDED[table.name] ?? {});
  const names = [...columns, ...added.map(([name]) => name)];
  return `INSERT INTO ${SQLITE_DIALECT.source(table).name} (${names.join(", ")})
    SELECT ${[...columns, ...added.map(([, value]) => value)].join(", ")}
      FROM (SELECT ${columns.map((name) => `? AS ${name}`).join(", ")}) WHERE TRUE ${table.name === "balances" ? REPLACE_BALANCE : ""}`;
}

function selectOpenWork({ caller }: Scope): Statement {
  // A hold that cannot be read may be that of any caller.
  const ofHold =
    "(? IS NULL OR CASE WHEN json_valid(hold) THEN json_extract(hold, '$.caller') = ? ELSE TRUE END)";
  const ofCaller = "(? IS NULL OR caller = ?)";
  const scope = caller ?? null;
  return {
    sql: `SELECT (SELECT count(*) FROM holds WHERE ${ofHold}) AS holds,
      (SELECT count(*) FROM tasks WHERE ended_at IS NULL AND ${ofCaller}) AS tasks,
      (SELECT count(*) FROM outbox AS o WHERE kind = 'message' AND task IS NOT NULL AND state = 'waiting' AND ${ofCaller}
        AND NOT EXISTS (SELECT 1 FROM disabled_webhooks AS d WHERE d.caller = o.caller AND d.endpoint = o.endpoint)) AS messages,
      (SELECT count(*) FROM owners WHERE alive_until > ?) AS processes`,
    values: [scope, scope, scope, scope, scope, scope, Date.now()],
  };
}

/** A row for each endpoint with messages to send, see `outbox-table.ts` of `@calotype/sqlite`. */
const FILL_WEBHOOK_QUEUES = `INSERT OR REPLACE INTO webhook_queues (caller, endpoint, next_at)
  SELECT caller, endpoint, min(due_at) FROM outbox AS o WHERE kind = 'message' AND state = 'waiting'
    AND NOT EXISTS (SELECT 1 FROM disabled_webhooks AS d WHERE d.caller = o.caller AND d.endpoint = o.endpoint)
  GROUP BY caller, endpoint`;

const refuse = (name: string, table: string, caller: string): string => `
  CREATE TRIGGER IF NOT EXISTS ${name} BEFORE INSERT ON ${table}
  WHEN EXISTS (SELECT 1 FROM stopped_callers WHERE caller IN (${caller}, '${ALL}')) BEGIN
    SELECT RAISE(ABORT, '${STOPPED_MESSAGE}');
  END;`;

/** The callers whose requests are refused. The triggers exist only while there is one. */
const CREATE_STOPPED = `
  CREATE TABLE IF NOT EXISTS stopped_callers (caller TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  ${refuse("stopped_hold", "holds", "json_extract(NEW.hold, '$.caller')")}
  ${refuse("stopped_task", "tasks", "NEW.caller")}`;

const DROP_STOPPED =
  "DROP TRIGGER IF EXISTS stopped_hold; DROP TRIGGER IF EXISTS stopped_task; DROP TABLE stopped_callers;";
