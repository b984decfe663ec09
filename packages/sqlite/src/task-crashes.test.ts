import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Task } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { createSqliteLedger } from "./create-sqlite-ledger.js";
import { START } from "./testing/entries.js";
import { findCopies } from "./testing/find-copies.js";
import { createRandom, SEED } from "./testing/random.js";
import { readAll } from "./testing/read-all.js";
import { spawnSource } from "./testing/spawn-source.js";
import { SWEEP } from "./testing/tasks.js";
import { temporaryFile } from "./testing/temporary-file.js";

const MINUTE_MS = 60_000;

/** The states that a task may have after its process printed this as its last line about it, and after a sweep. */
const MAY_BE: Readonly<Record<string, readonly Task["status"][]>> = {
  // What was not acknowledged may have happened or not.
  submitted: ["queued", "completed", "failed", "cancelled"],
  sent: ["failed", "completed"],
  completed: ["completed"],
  failed: ["failed"],
  cancelled: ["cancelled"],
};

/** Opens the file of a killed process after its lease has expired, sweeps, and compares everything with the printed lines. */
async function assertTasksConsistent(path: string, now: number, lines: readonly string[]): Promise<void> {
  const ledger = createSqliteLedger({ path, now: () => now });
  await ledger.tasks.sweep(SWEEP);
  await ledger.sweep(SWEEP);
  const printed = new Map(
    lines.map((line) => line.split(" ")).map(([state = "", name = ""]) => [name, state]),
  );
  printed.delete("");
  // Also the callers of tasks whose submission was not acknowledged.
  const callers = readCallers(path);
  const tasks: Task[] = [];
  for (const caller of callers) {
    for (const { id } of await ledger.tasks.list(caller, { limit: 100 })) {
      // A list has no results.
      const task = await ledger.tasks.find(caller, id);
      if (task !== undefined) tasks.push(task);
    }
  }
  const byName = new Map(tasks.map((task) => [task.id.replace("task_", ""), task]));
  for (const [name, state] of printed) expect(MAY_BE[state]).toContain(byName.get(name)?.status);

  const records = new Map((await readAll(ledger)).map((record) => [record.task, record]));
  const messages = await ledger.outbox.list({}, 10_000);
  for (const { id, status, result, error } of tasks) {
    const state = status === "completed" ? "settled" : error === "lost" ? "unresolved" : undefined;
    expect(records.get(id)?.state).toBe(state);
    expect(result).toBe(status === "completed" ? "result" : undefined);
    expect(messages.filter(({ task }) => task === id)).toHaveLength(status === "queued" ? 0 : 1);
  }
  for (const caller of callers) {
    const own = tasks.filter((task) => task.caller === caller);
    // A completed task costs 0.3, a lost one its hold of 0.5.
    const settled = own.reduce(
      (sum, { status, error }) => sum + (status === "completed" ? 3 : error === "lost" ? 5 : 0),
      0,
    );
    const held = own.filter(({ status }) => status === "queued").length * 5;
    expect(await ledger.balance(caller)).toEqual({ settled: String(settled / 10), held: String(held / 10) });
  }
  expect(await ledger.tasks.sweep(SWEEP)).toEqual({ lost: [], inputs: [] });
  // The next process on this file takes its own tasks only.
  for (const { caller, id, status } of tasks) if (status === "queued") await ledger.tasks.cancel(caller, id);
  await ledger.close();
  assertFileConsistent(path);
}

function readCallers(path: string): string[] {
  const database = new DatabaseSync(path);
  const rows = database.prepare("SELECT DISTINCT caller FROM tasks").all();
  database.close();
  return rows.map(({ caller }) => String(caller));
}

/** The tables agree with each other. */
function assertFileConsistent(path: string): void {
  const database = new DatabaseSync(path);
  const select = (sql: string): unknown[] => database.prepare(sql).all();
  expect(select("PRAGMA integrity_check")).toMatchObject([{ integrity_check: "ok" }]);
  for (const sql of [
    "SELECT id FROM tasks WHERE (hold IS NULL) <> (ended_at IS NOT NULL)",
    "SELECT id FROM tasks WHERE (ended_at IS NULL) <> (sequence IN (SELECT task FROM task_inputs))",
    "SELECT id FROM tasks WHERE (ended_at IS NULL) <> (delete_at IS NULL) OR owner IS NOT NULL",
    "SELECT task FROM task_inputs WHERE task NOT IN (SELECT sequence FROM tasks)",
    "SELECT caller FROM task_turns WHERE caller NOT IN (SELECT caller FROM tasks WHERE status = 'queued')",
    `SELECT id FROM outbox WHERE kind = 'record' AND (id, state) NOT IN (SELECT id, state FROM records)`,
    "SELECT id FROM tasks WHERE status = 'queued' AND caller NOT IN (SELECT caller FROM task_turns)",
    `SELECT caller, endpoint FROM outbox WHERE kind = 'message' AND state = 'waiting'
     EXCEPT SELECT caller, endpoint FROM webhook_queues`,
    `SELECT caller, endpoint FROM webhook_queues
     EXCEPT SELECT caller, endpoint FROM outbox WHERE kind = 'message' AND state = 'waiting'`,
    `SELECT caller, endpoint, next_at FROM webhook_queues EXCEPT
     SELECT caller, endpoint, min(due_at) FROM outbox WHERE kind = 'message' AND state = 'waiting' GROUP BY caller, endpoint`,
  ]) {
    expect({ sql, rows: select(sql) }).toEqual({ sql, rows: [] });
  }
  database.close();
}

describe("a process that works on tasks and is killed", () => {
  it("before and after any commit leaves each task and its hold, record and message in agreement", {
    timeout: 180_000,
  }, async () => {
    const args = [temporaryFile(), "s", START, 1, "copies"];
    const copies = findCopies(await spawnSource("work-on-tasks.ts", args).lines);

    expect(copies.length).toBeGreaterThan(30);
    for (const { path, lines } of copies) await assertTasksConsistent(path, START + MINUTE_MS, lines);
  });

  it("at any moment leaves them in agreement, also for the processes after it", {
    timeout: 90_000,
  }, async () => {
    const path = temporaryFile();
    const random = createRandom(SEED);
    const lines: string[] = [];
    // All on one file, so that every process finds the tasks of the processes before it.
    for (let kill = 0; kill < 8; kill++) {
      const now = START + kill * MINUTE_MS;
      const args = [path, `k${kill}`, now, 1_000_000];
      const { child, started, lines: written } = spawnSource("work-on-tasks.ts", args);
      await started;
      await sleep(random() * 150);
      child.kill("SIGKILL");
      lines.push(...(await written));
      await assertTasksConsistent(path, now + MINUTE_MS / 2 + 1, lines);
    }
    // Each process printed a line before it was killed.
    expect(lines.length).toBeGreaterThanOrEqual(8);
  });
});

it("four processes make one task for each idempotency key, and send each task once", async () => {
  const path = temporaryFile();
  const processes = ["a", "b", "c", "d"].map((name) => spawnSource("take-tasks.ts", [path, name, 50]));
  const sent = (await Promise.all(processes.map(({ lines }) => lines))).flat();

  expect(new Set(sent).size).toBe(50);
  expect(sent).toHaveLength(50);
  const ledger = createSqliteLedger({ path });
  expect(await ledger.balance("me")).toEqual({ settled: "25", held: "0" });
  await ledger.close();
});
