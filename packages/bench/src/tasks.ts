// Measures what tasks cost, for each ledger: a submission beside a bare hold, the steps of a task with an empty and with a
// long queue, and an idle worker. Prints the tables of docs/tasks.md: npm run bench:tasks -- memory sqlite postgres
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createGateway, createMemoryLedger } from "@calotype/core";
import type { HoldRecord, NewTask, SettledRecord, TaskLedger } from "@calotype/core/stores";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { Pool } from "pg";

const ROUNDS = 200;
const LONG_QUEUE = 100_000;
const IDLE_SECONDS = 20;

interface OpenLedger {
  readonly ledger: TaskLedger;
  readonly close: () => Promise<void>;
}

const directory = mkdtempSync(join(tmpdir(), "calotype-bench-tasks-"));
const LEDGERS: Readonly<Record<string, () => Promise<OpenLedger>>> = {
  memory: async () => ({ ledger: createMemoryLedger(), close: async () => undefined }),
  sqlite: async () => {
    const ledger = createSqliteLedger({ path: join(directory, `${randomUUID()}.db`) });
    return { ledger, close: () => ledger.close() };
  },
  postgres: async () => {
    const connectionString =
      process.env["CALOTYPE_TEST_POSTGRES"] ?? "postgres://postgres@127.0.0.1:5432/test";
    const pool = new Pool({ connectionString });
    const schema = `calotype_bench_${randomUUID()}`;
    const ledger = createPostgresLedger({ pool, schema });
    await ledger.ready();
    return {
      ledger,
      async close() {
        await ledger.close();
        await pool.query(`DROP SCHEMA "${schema}" CASCADE`);
        await pool.end();
      },
    };
  },
};

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const row = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

function toHold(id: string, caller: string, task?: string): HoldRecord {
  const time = new Date().toISOString();
  const facts = { id, time, caller, group: "default", model: "model", operation: "generate" as const };
  return { ...facts, amount: "0.25", ttlMs: 60_000, ...(task !== undefined && { task }) };
}

function toTask(caller: string): readonly [NewTask, HoldRecord] {
  const [id, requestId] = [`task_${randomUUID()}`, `req_${randomUUID()}`];
  const facts = { id, requestId, caller, model: "model", operation: "generate" as const };
  const input = JSON.stringify({ prompt: "x".repeat(300) });
  return [
    { ...facts, input, webhooks: [], ttlMs: 86_400_000, keepMs: 86_400_000 },
    toHold(requestId, caller, id),
  ];
}

function toRecord({ id, time, caller, group, model, operation, task }: HoldRecord): SettledRecord {
  const facts = { id, time, caller, group, model, operation, ...(task !== undefined && { task }) };
  const made = {
    channel: "ark",
    upstreamModel: "model",
    status: 200,
    images: 1,
    charge: "0.25",
    durationMs: 1,
  };
  return { state: "settled", ...facts, ...made };
}

/** The steps of a task, in order, and those of a request without a task. In milliseconds. */
async function measureSteps(ledger: TaskLedger, rounds: number): Promise<Map<string, number>> {
  const { tasks } = ledger;
  const times = new Map<string, number[]>();
  const time = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const began = performance.now();
    const result = await work();
    times.set(name, [...(times.get(name) ?? []), performance.now() - began]);
    return result;
  };
  for (let round = 0; round < rounds; round++) {
    const plain = toHold(`req_${randomUUID()}`, "one");
    await time("hold", () => ledger.hold(plain));
    await time("settle", () => ledger.settle(toRecord(plain)));
    // Of a caller without other tasks, so that it is among the next.
    const caller = `caller-${round}`;
    const [task, taskHold] = toTask(caller);
    await time("submit", () => tasks.submit(task, taskHold));
    await time("find", () => tasks.find(caller, task.id));
    await time("list", () => tasks.list("many", { limit: 20 }));
    const taken = await time("take", () => tasks.take({ limit: 1, except: [] }));
    const [first] = taken;
    if (first === undefined) throw new Error("No task was taken.");
    await time("mark as sent", () => tasks.markSent(first.id));
    const result = JSON.stringify({ data: [{ url: "https://example.com/1.png" }] });
    await time("end", () =>
      tasks.end({
        id: first.id,
        status: "completed",
        result,
        record: toRecord({ ...taskHold, id: first.requestId, caller: first.caller, task: first.id }),
      }),
    );
  }
  return new Map([...times].map(([name, values]) => [name, median(values)]));
}

async function fill({ tasks }: TaskLedger, count: number): Promise<void> {
  for (let done = 0; done < count; done += 1_000) {
    await Promise.all(Array.from({ length: 1_000 }, () => tasks.submit(...toTask("many"))));
  }
}

/** The CPU of this process with an idle gateway, in milliseconds for each minute. */
async function measureIdle(ledger: TaskLedger, concurrency: number): Promise<number> {
  const gateway = createGateway({
    models: { model: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "a-key", modelMapping: { model: "model" } }],
    callers: [{ id: "me", key: "a-key-of-a-caller" }],
    tasks: { concurrency },
    ledger,
  });
  gateway.start();
  await pause(2_000);
  const before = process.cpuUsage();
  await pause(IDLE_SECONDS * 1_000);
  const { user, system } = process.cpuUsage(before);
  await gateway.close();
  return ((user + system) / 1_000 / IDLE_SECONDS) * 60;
}

const STEPS = ["hold", "settle", "submit", "find", "list", "take", "mark as sent", "end"];

async function measure(name: string, open: () => Promise<OpenLedger>): Promise<void> {
  const { ledger, close } = await open();
  const queues = name === "memory" ? [0] : [0, LONG_QUEUE];
  await measureSteps(ledger, 20);
  for (const queue of queues) {
    await fill(ledger, queue);
    const times = await measureSteps(ledger, ROUNDS);
    say(row([name, queue, ...STEPS.map((step) => (times.get(step) ?? 0).toFixed(2))]));
  }
  await close();
  const idle = await open();
  const cpu = [await measureIdle(idle.ledger, 0), await measureIdle(idle.ledger, 16)];
  await idle.close();
  idleRows.push(row([name, ...cpu.map((ms) => ms.toFixed(0))]));
}

const idleRows: string[] = [];
const names = process.argv.slice(2);
say(row(["Ledger", "Tasks in the queue", ...STEPS]));
say(row(["---", "---:", ...STEPS.map(() => "---:")]));
for (const [name, open] of Object.entries(LEDGERS)) {
  if (names.length === 0 || names.includes(name)) await measure(name, open);
}
say("");
say(row(["Ledger", "Gateway without a worker, CPU ms in a minute", "with an idle worker"]));
say(row(["---", "---:", "---:"]));
for (const line of idleRows) say(line);
rmSync(directory, { recursive: true, force: true });
