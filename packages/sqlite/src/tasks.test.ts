import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { EntryFailure, TaskChange } from "@calotype/core/stores";
import { describe, expect, it, onTestFinished } from "vitest";
import { createBalances } from "./balances.js";
import { createSqliteLedger, type SqliteLedger } from "./create-sqlite-ledger.js";
import { createHolds, createRecords, createSettlement } from "./holds-and-records.js";
import { createHourlyTotals } from "./hourly-totals.js";
import { openDatabase } from "./open-database.js";
import { createOutbox } from "./outbox.js";
import { createOwner } from "./owner.js";
import { createTasks } from "./tasks.js";
import { START } from "./testing/entries.js";
import { SWEEP, submissionOf, submit } from "./testing/tasks.js";
import { temporaryFile } from "./testing/temporary-file.js";

// What every task store does is tested in packages/conformance; here, what is this one's own.

function open(path: string, clock = now): SqliteLedger {
  const ledger = createSqliteLedger({ path, now: clock });
  onTestFinished(() => ledger.close());
  return ledger;
}

/** Runs SQL in the file with another connection, and returns the rows. */
function query(path: string, sql: string): Record<string, unknown>[] {
  const database = new DatabaseSync(path);
  const rows = database.prepare(sql).all();
  database.close();
  return rows.map((row) => ({ ...row }));
}

const dataVersionOf = (database: DatabaseSync): unknown =>
  database.prepare("PRAGMA data_version").get()?.["data_version"];

const now = (): number => START;
const run = async <T>(operation: () => T): Promise<T> => operation();

/** All statements that the tasks and the outbox prepare, each with SQLite's description of how it runs. */
function plansOfTasks(): (readonly [sql: string, plan: string])[] {
  const database = openDatabase(":memory:");
  const statements: string[] = [];
  const recording = new Proxy(database, {
    get: (target, name) =>
      name === "prepare"
        ? (sql: string) => {
            statements.push(sql);
            return target.prepare(sql);
          }
        : Reflect.get(target, name, target),
  });
  const owner = createOwner(database, { now, leaseMs: 1 });
  const { entries: outbox } = createOutbox(recording, { now, read: run, write: run });
  const { balances } = createBalances(database, { now, read: run, outbox });
  const records = createRecords(database, { totals: createHourlyTotals(database), outbox });
  const holds = createHolds(database, { balances, owner, hasRecord: () => false, now });
  const settlement = createSettlement({ balances, holds, records, outbox });
  createTasks(recording, { balances, settlement, outbox, owner, now, read: run, write: run });
  const plans = statements
    .filter((sql) => !/^(?:SAVEPOINT|RELEASE|ROLLBACK)/.test(sql))
    .map((sql) => {
      const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
      return [sql.replaceAll(/\s+/g, " "), steps.map(({ detail }) => String(detail)).join("; ")] as const;
    });
  database.close();
  return plans;
}

/** These read all rows: they return them, or the studio shows them. Ended tasks are deleted after some days. */
const WHOLE_TABLES: Readonly<Record<string, string>> = {
  "SELECT caller, endpoint FROM disabled_webhooks": "SCAN disabled_webhooks",
  "SELECT sequence, id, request_id, caller, model, operation, status, created_at, expires_at, ended_at, '[]' AS images, NULL AS result, error FROM tasks WHERE (:caller IS NULL OR caller = :caller) AND (:statuses IS NULL OR status IN (SELECT value FROM json_each(:statuses))) ORDER BY sequence DESC LIMIT :limit":
    "SCAN tasks; LIST SUBQUERY 1; SCAN json_each VIRTUAL TABLE INDEX 1:; CREATE BLOOM FILTER",
  "SELECT status, count(*) AS tasks FROM tasks WHERE delete_at IS NULL GROUP BY status":
    "SCAN tasks; USE TEMP B-TREE FOR GROUP BY",
};

describe("a statement of the tasks and the outbox scans no table", () => {
  it.each(plansOfTasks())("%s", (sql, plan) => {
    const isAllowed = WHOLE_TABLES[sql] === plan;
    // `max(turn)` reads the last entry of its index only.
    const hasScan = /\bSCAN (?!constant)/.test(plan) || plan.includes("TEMP B-TREE");
    expect(isAllowed || !hasScan ? "" : plan).toBe("");
  });

  it("and all of them were looked at", () => {
    expect(plansOfTasks().length).toBeGreaterThan(30);
  });
});

it("taking from an empty queue, or from callers that are all left out, writes nothing", async () => {
  const path = temporaryFile();
  const ledger = open(path);
  await submit(ledger, "1");
  const observer = new DatabaseSync(path);
  onTestFinished(() => observer.close());
  const before = dataVersionOf(observer);
  expect(await ledger.tasks.take({ limit: 9, except: ["me"] })).toEqual([]);
  expect(await ledger.outbox.lease("message", { limit: 9, leaseMs: 1, except: [] })).toEqual([]);
  expect(dataVersionOf(observer)).toBe(before);
  expect(await ledger.tasks.take({ limit: 9, except: [] })).toHaveLength(1);
  const after = dataVersionOf(observer);
  expect(after).not.toBe(before);
  expect(await ledger.tasks.take({ limit: 9, except: [] })).toEqual([]);

  expect(dataVersionOf(observer)).toBe(after);
});

it("an empty queue does not wait for another process that writes", async () => {
  const path = temporaryFile();
  const ledger = open(path);
  const writer = new DatabaseSync(path);
  onTestFinished(() => writer.close());
  writer.exec("BEGIN IMMEDIATE");

  expect(await ledger.tasks.take({ limit: 9, except: [] })).toEqual([]);
});

it.each([
  ["short", "a lighthouse at dusk"],
  ["long", "a lighthouse at dusk. ".repeat(9_000)],
])("the file no longer contains the %s prompt of an ended task", async (_length, input) => {
  const path = temporaryFile();
  const ledger = createSqliteLedger({ path, now });
  await submit(ledger, "1", { input });
  await submit(ledger, "2");
  await ledger.tasks.cancel("me", "task_1");
  await ledger.close();

  const file = readFileSync(path);
  expect(file.includes("input of 2")).toBe(true);
  expect(file.includes("lighthouse")).toBe(false);
});

it("a worker that finds a task to continue can take it, also if another process writes meanwhile", async () => {
  const path = temporaryFile();
  const ledger = open(path);
  await submit(ledger, "1");
  await ledger.tasks.take({ limit: 1, except: [] });
  await ledger.tasks.markSent("task_1");
  await ledger.tasks.keepUpstream?.("task_1", "kept");
  await ledger.tasks.sweep({ ...SWEEP, own: true });

  const taking = ledger.tasks.take({ limit: 1, except: [] });
  query(path, "UPDATE tasks SET caller = caller"); // After the ledger has read, and before it writes.
  expect(await taking).toMatchObject([{ id: "task_1", upstream: "kept" }]);
});

it("ended tasks leave no input, no hold, no turn and no message behind when they are deleted", async () => {
  const path = temporaryFile();
  let time = START;
  const ledger = open(path, () => time);
  for (const name of ["1", "2", "3"]) await submit(ledger, name, { caller: name, webhooks: ["shop"] });
  await ledger.outbox.setDisabled("3", "shop", true);
  await ledger.tasks.take({ limit: 1, except: [] });
  await ledger.tasks.markSent("task_1");
  await ledger.tasks.keepUpstream?.("task_1", "kept");
  await ledger.tasks.end({ id: "task_1", status: "failed" });
  for (const name of ["2", "3"]) await ledger.tasks.cancel(name, `task_${name}`);
  for (const table of ["task_inputs", "task_turns", "task_upstreams", "task_shares"])
    expect(query(path, `SELECT * FROM ${table}`)).toEqual([]);
  expect(query(path, "SELECT tasks, bytes FROM task_share_sums")).toEqual([{ tasks: 0, bytes: 0 }]);
  expect(query(path, "SELECT 1 FROM tasks WHERE hold IS NOT NULL OR owner IS NOT NULL")).toEqual([]);
  for (const { id } of await ledger.outbox.list({}, 9)) {
    await ledger.outbox.finish(id, { kind: "retry", delayMs: 0, error: "503" });
  }
  for (const caller of ["1", "2"]) {
    const [message] = await ledger.outbox.list({ caller }, 1);
    await ledger.outbox.finish(message?.id ?? "", { kind: "delivered" });
  }
  time += 3_600_000;
  await ledger.tasks.sweep(SWEEP);

  for (const table of ["tasks", "outbox", "webhook_queues"]) {
    expect(query(path, `SELECT * FROM ${table}`)).toEqual([]);
  }
});

it("if some tasks are damaged, a sweep ends the others, reports each, and leaves the damaged ones as they are", async () => {
  const path = temporaryFile();
  let time = START;
  const ledger = open(path, () => time);
  const dead = open(path, () => time);
  const names = Array.from({ length: 600 }, (_, at) => String(at));
  await Promise.all(names.map((name) => submit(ledger, name)));
  await dead.tasks.take({ limit: 2, except: [] });
  for (const id of ["task_0", "task_1"]) await dead.tasks.markSent(id);
  query(path, "UPDATE tasks SET hold = '{' WHERE id IN ('task_0', 'task_300')");
  query(path, "DELETE FROM task_inputs WHERE task = (SELECT sequence FROM tasks WHERE id = 'task_400')");
  await dead.close();
  time += 3_600_000;
  const failures: EntryFailure[] = [];
  const onFailure = (failure: EntryFailure) => failures.push(failure);
  const { lost, inputs } = await ledger.tasks.sweep({ ...SWEEP, onFailure });

  expect(lost.map(({ id }) => id)).toEqual(["req_1"]);
  expect(inputs).toHaveLength(597);
  expect(failures.map(({ id }) => id).toSorted()).toEqual(["task_0", "task_300", "task_400"]);
  // 0.5 of the lost task was charged, and the holds of the three damaged ones are kept.
  expect(await ledger.balance("me")).toEqual({ settled: "0.5", held: "1.5" });
  expect(await ledger.tasks.find("me", "task_400")).toMatchObject({ status: "queued" });
  await expect(ledger.tasks.sweep(SWEEP)).rejects.toThrow(/^3 .* cannot be ended/);
});

it("a listener is told the changes of its own ledger object", async () => {
  const path = temporaryFile();
  const [one, other] = [open(path), open(path)];
  const told: TaskChange[] = [];
  one.tasks.watch((change) => void told.push(change));
  await submit(other, "1");
  await submit(one, "2");

  expect(told).toEqual([{ kind: "queued" }]);
});

it("a submission that fails is told to nobody, and the next one is told once", async () => {
  const ledger = open(":memory:");
  const told: TaskChange[] = [];
  ledger.tasks.watch((change) => void told.push(change));
  const [task, hold] = submissionOf("1");
  const results = await Promise.allSettled([
    ledger.tasks.submit({ ...task, ttlMs: -1 }, hold),
    submit(ledger, "2"),
    submit(ledger, "3"),
  ]);

  expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
  expect(told).toEqual([{ kind: "queued" }, { kind: "queued" }]);
});

it("a closed ledger rejects every call of its tasks", async () => {
  const ledger = createSqliteLedger({ path: ":memory:" });
  await ledger.close();
  const { tasks, outbox } = ledger;
  const calls = [
    tasks.submit(...submissionOf("1")),
    tasks.take({ limit: 1, except: [] }),
    tasks.markSent("task_1"),
    tasks.putBack([]),
    tasks.addImages("task_1", []),
    tasks.end({ id: "task_1", status: "failed" }),
    tasks.cancel("me", "task_1"),
    tasks.find("me", "task_1"),
    tasks.list("me", { limit: 1 }),
    tasks.sweep(SWEEP),
    outbox.lease("message", { limit: 1, leaseMs: 1, except: [] }),
    outbox.finish("msg_1", { kind: "delivered" }),
    outbox.list({}, 1),
    outbox.replay({}),
    outbox.setDisabled("me", "shop", true),
    outbox.listDisabled(),
  ];
  for (const result of await Promise.allSettled(calls)) {
    expect(result).toMatchObject({ reason: new Error("The ledger is closed.") });
  }
});
