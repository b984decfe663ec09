import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { createSqliteLedger } from "./create-sqlite-ledger.js";
import { assertOurFile, MIGRATIONS, migrate } from "./migrations.js";
import { recordOf, START } from "./testing/entries.js";
import { FORMAT_1 } from "./testing/format-1.js";
import { readAll } from "./testing/read-all.js";
import { SWEEP, submit } from "./testing/tasks.js";
import { temporaryFile } from "./testing/temporary-file.js";

const FIRST = "CREATE TABLE a (id TEXT) STRICT; INSERT INTO a VALUES ('kept');";
const SECOND = "ALTER TABLE a ADD COLUMN b TEXT DEFAULT 'added';";

/** Returns the path of a new file of version 0.1, which is the format before tasks. */
function fileOf01(): string {
  const path = temporaryFile();
  const database = new DatabaseSync(path);
  database.exec(FORMAT_1);
  database.close();
  return path;
}

/** Updates a file, and returns its tables and indices. */
function schemaOf(path: string): unknown {
  const database = new DatabaseSync(path);
  migrate(database);
  const rows = database.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY name").all();
  database.close();
  return rows.map(({ type, name, sql }) => ({
    type,
    name,
    sql: typeof sql === "string" ? sql.replaceAll(/\s+/g, " ") : sql,
  }));
}

const versionOf = (database: DatabaseSync): unknown =>
  database.prepare("PRAGMA user_version").get()?.["user_version"];

it("a file of an older format gets the missing steps, and keeps its data", () => {
  const path = temporaryFile();
  const older = new DatabaseSync(path);
  migrate(older, [FIRST]);
  older.close();

  const newer = new DatabaseSync(path);
  migrate(newer, [FIRST, SECOND]);
  expect({ ...newer.prepare("SELECT * FROM a").get() }).toEqual({ id: "kept", b: "added" });
  expect(versionOf(newer)).toBe(2);
  newer.close();
});

it("a step runs only once for a file", () => {
  const database = new DatabaseSync(":memory:");
  migrate(database, [FIRST]);
  migrate(database, [FIRST]);
  expect(database.prepare("SELECT id FROM a").all()).toHaveLength(1);
});

it("a step that fails leaves the file in its old format", () => {
  const database = new DatabaseSync(":memory:");
  migrate(database, [FIRST]);
  expect(() => migrate(database, [FIRST, `${SECOND} INSERT INTO nowhere VALUES (1);`])).toThrow("nowhere");
  expect(versionOf(database)).toBe(1);
  expect({ ...database.prepare("SELECT * FROM a").get() }).toEqual({ id: "kept" });
});

it("a file that another process creates at the same time is not mistaken for another program's", () => {
  const path = temporaryFile();
  const own = new DatabaseSync(path);
  const other = new DatabaseSync(path);
  const prepare = own.prepare.bind(own);
  let isMade = false;
  own.prepare = (sql) => {
    const statement = prepare(sql);
    if (!sql.includes("sqlite_schema")) return statement;
    try {
      migrate(other);
      isMade = true;
    } catch {
      // It has to wait until the check has ended.
    }
    return statement;
  };

  expect(() => assertOurFile(own)).not.toThrow();
  if (!isMade) migrate(other);
  expect(() => assertOurFile(own)).not.toThrow();
  own.close();
  other.close();
});

it("a file of version 0.1 keeps its holds, records and balances, and gets tasks", async () => {
  const path = fileOf01();
  const ledger = createSqliteLedger({ path, now: () => START });
  expect(await ledger.balance("me")).toEqual({ settled: "1", held: "0.5" });
  const records = await readAll(ledger);
  expect(records.map(({ id, state }) => [id, state])).toEqual([
    ["req_lost", "unresolved"],
    ["req_settled", "settled"],
  ]);
  expect((await ledger.takeUndelivered(9, 0)).map(({ id }) => id)).toEqual(["req_lost"]);
  expect(await ledger.tasks.list("me", { limit: 9 })).toEqual([]);
  expect(await ledger.tasks.sweep(SWEEP)).toEqual({ lost: [], inputs: [] });
  await submit(ledger, "1");
  await ledger.tasks.take({ limit: 1, except: [] });
  await ledger.tasks.markSent("task_1");
  const record = recordOf({ id: "req_1", task: "task_1", charge: "0.2" });
  await ledger.tasks.end({ id: "task_1", status: "completed", record });
  await ledger.settle(recordOf({ id: "req_lost", charge: "0.1" }));

  expect((await ledger.sweep({ onLost: "release" })).map(({ id }) => id)).toEqual(["req_open"]);
  expect(await ledger.balance("me")).toEqual({ settled: "0.6", held: "0" });
  await ledger.close();
});

it("a file of version 0.1 has the tables and indices of a new file after its update", () => {
  expect(schemaOf(fileOf01())).toEqual(schemaOf(temporaryFile()));
});

it("a file of version 0.1 is updated once if several open it, and goes on for a process that has it open", async () => {
  const path = fileOf01();
  const old = new DatabaseSync(path);
  const count = old.prepare("SELECT count(*) AS count FROM holds");
  expect(count.get()).toMatchObject({ count: 1 });
  const ledgers = [0, 1, 2].map(() => createSqliteLedger({ path, now: () => START }));
  for (const [at, ledger] of ledgers.entries()) await submit(ledger, String(at));

  expect(versionOf(old)).toBe(11);
  expect(count.get()).toMatchObject({ count: 1 });
  old.prepare("DELETE FROM holds").run();
  expect(await ledgers[0]?.tasks.list("me", { limit: 9 })).toHaveLength(3);
  old.close();
  for (const ledger of ledgers) await ledger.close();
});

it("a file from before the outbox keeps what was not delivered, and its messages", async () => {
  const path = temporaryFile();
  const database = new DatabaseSync(path);
  migrate(database, MIGRATIONS.slice(0, 9));
  const record = recordOf({ id: "req_1" });
  database.exec(`
    INSERT INTO records (id, state, time, caller, model, channel, images, charge, record, leased_until)
      VALUES ('req_0', 'settled', 0, 'me', 'm', 'c', 1, '0', '${JSON.stringify({ ...record, id: "req_0" })}', NULL),
        ('req_1', 'settled', 0, 'me', 'm', 'c', 1, '0', '${JSON.stringify(record)}', 0);
    INSERT INTO budget_alerts (caller, period, threshold, budget, settled, created_at, leased_until)
      VALUES ('me', '', 50, '10', '5', ${START}, 0), ('me', '2026-01-01 month UTC', 80, '10', '8', ${START}, ${START + 1});
    INSERT INTO tasks (id, request_id, caller, model, operation, status, created_at, expires_at, ended_at, keep_ms, delete_at,
        webhooks, images)
      VALUES ('task_1', 'req_1', 'me', 'm', 'generate', 'cancelled', ${START}, ${START}, ${START}, 1, ${START}, '[]', '[]');
    INSERT INTO webhook_messages (id, task, caller, endpoint, state, attempts, next_at, last_error)
      VALUES ('msg_1', 1, 'me', 'shop', 'waiting', 2, 0, '503'), ('msg_2', 1, 'me', 'log', 'delivered', 1, 0, NULL);
    INSERT INTO webhook_queues VALUES ('me', 'shop', 0);`);
  database.close();
  const ledger = createSqliteLedger({ path, now: () => START });
  const options = { limit: 9, leaseMs: 1 };

  expect(await ledger.outbox.lease("record", options)).toEqual([record]);
  const [alert] = await ledger.outbox.lease("alert", options);
  expect(alert).toMatchObject({ id: "total 50 me", caller: "me", threshold: 50, settled: "5" });
  expect(await ledger.outbox.lease("message", options)).toMatchObject([
    { message: { id: "msg_1", task: "task_1", attempts: 2, lastError: "503" }, task: { id: "task_1" } },
  ]);
  expect((await ledger.outbox.list({}, 9)).map(({ id, state }) => [id, state])).toEqual([
    ["msg_2", "delivered"],
    ["msg_1", "waiting"],
  ]);
  await ledger.outbox.done("alert", alert === undefined ? [] : [alert]);
  await ledger.close();
  const later = createSqliteLedger({ path, now: () => START + 2 });
  expect((await later.outbox.lease("alert", options)).map(({ id }) => id)).toEqual([
    "2026-01-01 month UTC 80 me",
  ]);
  await later.close();
});
