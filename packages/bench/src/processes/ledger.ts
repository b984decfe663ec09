// One process of a fleet with ledgers on PostgreSQL: makes requests or tasks, and delivers their records.
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { NewTask, TakenTask } from "@calotype/core/stores";
import type { createPostgresLedger, PostgresLedger } from "@calotype/postgres";
import { Pool } from "pg";
import { createFacts, HELD, SETTLED } from "../ledger-requests.ts";
import { endWithParent, replyToParent } from "./parent.ts";

/** A ledger of each process, and the schema of its tables. */
export interface LedgerPlace {
  readonly schema: string;
  /** The index.js of the @calotype/postgres that makes it. */
  readonly module: string;
  /** Whether the processes deliver its records. */
  readonly isRead: boolean;
}

/** What the lines of a process do, one operation after another. `rows`: they insert a row into `public.bare`, without a ledger. */
export type LedgerWork = "requests" | "tasks" | "rows";

/** The commands for a process. */
export type LedgerOrder =
  | {
      readonly kind: "open";
      readonly url: string;
      readonly connections: number;
      readonly places: LedgerPlace[];
    }
  | {
      readonly kind: "run";
      readonly schema: string;
      readonly work: LedgerWork;
      /** How many operations run at the same time. */
      readonly lines: number;
      readonly callers: number;
      readonly seconds: number;
    }
  /** One operation at a time, in turns: two bare transactions, and a request of each ledger. */
  | { readonly kind: "alone"; readonly schemas: readonly string[]; readonly times: number };

/** The milliseconds of each operation. */
export type Times = readonly number[];

/** What a process did in a round. */
export interface RunReply {
  readonly times: Times;
  /** Operations that failed, such as holds for which PostgreSQL took longer than ten seconds. */
  readonly failed: number;
  readonly error?: string | undefined;
}

/** How many records are delivered at once, and how long a process waits that finds none: as in a gateway. */
const DELIVERED_AT_ONCE = 100;
const IDLE_MS = 20;

let pool: Pool | undefined;
const opened = new Map<string, { readonly ledger: PostgresLedger; readonly isRead: boolean }>();

endWithParent();
replyToParent(async (question) => {
  const order: LedgerOrder = JSON.parse(question);
  switch (order.kind) {
    case "open":
      return await open(order);
    case "run":
      return await run(order);
    case "alone":
      return await measureAlone(order);
  }
});

async function open({ url, connections, places }: LedgerOrder & { kind: "open" }): Promise<void> {
  // Connections stay open between rounds, so that their CPU time can be read.
  pool = new Pool({ connectionString: url, max: connections, idleTimeoutMillis: 0 });
  for (const { schema, module, isRead } of places) {
    const version: { readonly createPostgresLedger: typeof createPostgresLedger } = await import(
      pathToFileURL(module).href
    );
    const ledger = version.createPostgresLedger({ pool, schema });
    // An older version has no such method: it writes what is delivered for all.
    ledger.setReader?.("record", isRead);
    ledger.setReader?.("alert", false);
    await ledger.ready();
    opened.set(schema, { ledger, isRead });
  }
}

function find(schema: string): { readonly ledger: PostgresLedger; readonly isRead: boolean } {
  const found = opened.get(schema);
  if (found === undefined) throw new Error(`No ledger has the schema ${schema}.`);
  return found;
}

async function run({
  schema,
  work,
  lines,
  callers,
  seconds,
}: LedgerOrder & { kind: "run" }): Promise<RunReply> {
  const { ledger, isRead } = find(schema);
  const end = performance.now() + seconds * 1000;
  const times: number[] = [];
  const errors: unknown[] = [];
  let count = 0;
  const nextCaller = (): string => `caller-${count++ % callers}`;
  const takeTask = createTaker(ledger, end);
  const operations: Record<LedgerWork, () => Promise<boolean>> = {
    requests: () => makeRequest(ledger, nextCaller()),
    tasks: () => runTask(ledger, nextCaller(), takeTask),
    rows: insertRow,
  };
  const runLine = async (): Promise<void> => {
    while (performance.now() < end) {
      const began = performance.now();
      try {
        if (await operations[work]()) times.push(Number((performance.now() - began).toFixed(2)));
      } catch (error) {
        errors.push(error);
      }
    }
  };
  // As a gateway with tasks does, which so knows of the tasks of other processes.
  const unwatch = work === "tasks" ? ledger.tasks.watch(() => undefined) : undefined;
  let isOver = false;
  const running = Promise.all(Array.from({ length: lines }, runLine)).finally(() => (isOver = true));
  const delivering = isRead && work !== "rows" ? deliver(ledger, () => isOver) : undefined;
  await Promise.all([running, delivering]);
  unwatch?.();
  return { times, failed: errors.length, ...(errors.length > 0 && { error: String(errors[0]) }) };
}

/** Delivers records until the lines have ended and none is left. A ledger that delivers faster than another has no advantage otherwise. */
async function deliver(ledger: PostgresLedger, isOver: () => boolean): Promise<void> {
  while (true) {
    const isLast = isOver();
    const records = await ledger.takeUndelivered(DELIVERED_AT_ONCE, 30_000);
    if (records.length > 0) await ledger.markDelivered(records);
    else if (isLast) return;
    else await pause(IDLE_MS);
  }
}

async function insertRow(): Promise<boolean> {
  await pool?.query("INSERT INTO public.bare VALUES ($1, $2)", [randomUUID(), "0.25"]);
  return true;
}

async function makeRequest(ledger: PostgresLedger, caller: string): Promise<boolean> {
  const facts = createFacts(caller);
  const held = await ledger.hold({ ...facts, ...HELD });
  if (!held.ok) throw new Error("A hold was refused.");
  await ledger.settle({ ...facts, ...SETTLED });
  return true;
}

/** Submits a task, and runs one that waits: this one or another. False if there was none before the end. */
async function runTask(
  ledger: PostgresLedger,
  caller: string,
  take: () => Promise<TakenTask | undefined>,
): Promise<boolean> {
  const [id, facts] = [`task_${randomUUID()}`, createFacts(caller)];
  const task: NewTask = {
    id,
    requestId: facts.id,
    caller,
    model: facts.model,
    operation: facts.operation,
    input: INPUT,
    webhooks: [],
    ttlMs: 86_400_000,
    keepMs: 86_400_000,
  };
  const submitted = await ledger.tasks.submit(task, { ...facts, ...HELD, task: id });
  if (submitted.kind !== "submitted") throw new Error(`A task was not submitted: ${submitted.kind}`);
  const taken = await take();
  if (taken === undefined) return false;
  await ledger.tasks.markSent(taken.id);
  const record = { ...createFacts(taken.caller), id: taken.requestId, task: taken.id, ...SETTLED };
  await ledger.tasks.end({ id: taken.id, status: "completed", result: RESULT, record });
  return true;
}

/** Takes tasks for all lines that wait for one, as the worker of a gateway does. */
function createTaker(ledger: PostgresLedger, end: number): () => Promise<TakenTask | undefined> {
  const waiting: ((task: TakenTask | undefined) => void)[] = [];
  const failed: ((error: unknown) => void)[] = [];
  let taking = false;
  const takeAll = async (): Promise<void> => {
    taking = true;
    while (waiting.length > 0) {
      const tasks = await ledger.tasks.take({ limit: waiting.length, except: [] });
      for (const task of tasks) waiting.shift()?.(task);
      if (tasks.length === 0) {
        if (performance.now() > end) for (const resume of waiting.splice(0)) resume(undefined);
        await pause(1);
      }
    }
    taking = false;
  };
  return async () =>
    await new Promise((resume, reject) => {
      waiting.push(resume);
      failed.push(reject);
      if (!taking) takeAll().catch((error: unknown) => failed.splice(0).forEach((fail) => fail(error)));
    });
}

async function measureAlone({
  schemas,
  times,
}: LedgerOrder & { kind: "alone" }): Promise<Record<string, Times>> {
  const works: Record<string, () => Promise<unknown>> = { bare: changeRow };
  for (const schema of schemas) works[schema] = () => makeRequest(find(schema).ledger, "alone");
  const measured: Record<string, number[]> = Object.fromEntries(Object.keys(works).map((name) => [name, []]));
  for (let time = 0; time < times; time++) {
    for (const [name, work] of Object.entries(works)) {
      const began = performance.now();
      await work();
      measured[name]?.push(Number((performance.now() - began).toFixed(3)));
    }
  }
  return measured;
}

/** Two transactions of a single row, the smallest that could keep a hold and its settlement. */
async function changeRow(): Promise<void> {
  const id = randomUUID();
  await pool?.query("INSERT INTO public.bare VALUES ($1, $2)", [id, "0.5"]);
  await pool?.query("UPDATE public.bare SET charge = $2 WHERE id = $1", [id, "0.25"]);
}

const INPUT = JSON.stringify({ prompt: "x".repeat(300) });
const RESULT = JSON.stringify({ data: [{ url: "https://example.com/1.png" }] });
