// How much a fleet of 1, 10 and 30 processes does with one ledger on PostgreSQL, and how long each request takes. In turns with an
// older version, if one is named. Starts a PostgreSQL server of its own: about five minutes on two idle cores.
// npm run bench:processes -- [--older <index.js of another @calotype/postgres>] [--quick] [--store]
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import type { createPostgresLedger } from "@calotype/postgres";
import { Pool } from "pg";
import { startBenchServer } from "./bench-server.ts";
import type { LedgerOrder, LedgerPlace, LedgerWork, RunReply, Times } from "./processes/ledger.ts";
import { medianOf, percentileOf } from "./statistics.ts";
import { beginRun } from "./stored-run.ts";
import { type Child, startChild } from "./system/child.ts";

/** The results of a run. */
export interface ProcessesResults {
  readonly postgres: string;
  /** The connections of each process. */
  readonly connections: number;
  /** The median milliseconds of an operation that runs alone. `older` is absent if no older version was measured. */
  readonly alone: { readonly bare: number; readonly newer: number; readonly older?: number };
  readonly cells: readonly ProcessesCell[];
}

/** What a fleet did in each round. */
export interface ProcessesCell {
  readonly processes: number;
  /** The operations in progress in each process. */
  readonly lines: number;
  readonly work: LedgerWork;
  readonly callers: number;
  readonly isRead: boolean;
  readonly newer: readonly Round[];
  /** Empty if no older version was measured. */
  readonly older: readonly Round[];
}

/** Operations of all processes in a second, with their deliveries, and the milliseconds that one took. */
export interface Round {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** The CPU time of the server for each operation, in milliseconds. Other programs change it less than the rest. */
  readonly serverCpuMs: number;
  /** How many operations failed. */
  readonly failed: number;
}

const { values: options } = parseArgs({
  options: {
    older: { type: "string" },
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    store: { type: "boolean", default: false },
  },
});
const ROUNDS = options.quick ? 1 : 3;
const ROUND_SECONDS = options.quick ? 0.5 : 1.5;
const ALONE_TIMES = options.quick ? 50 : 400;
const CONNECTIONS = 6;
const CALLERS = 1000;

/** The fleets. Each process of the next one is there already or is added. */
const FLEETS: readonly { readonly processes: number; readonly lines: number }[] = [
  { processes: 1, lines: 32 },
  { processes: 1, lines: 256 },
  { processes: 10, lines: 32 },
  { processes: 30, lines: 32 },
];

const WORKS: readonly { readonly work: LedgerWork; readonly callers: number; readonly isRead: boolean }[] = [
  { work: "rows", callers: CALLERS, isRead: false },
  { work: "requests", callers: CALLERS, isRead: false },
  { work: "requests", callers: 1, isRead: false },
  { work: "requests", callers: CALLERS, isRead: true },
  { work: "tasks", callers: CALLERS, isRead: false },
  { work: "tasks", callers: CALLERS, isRead: true },
];

const NEWER = fileURLToPath(import.meta.resolve("@calotype/postgres"));
const older = options.older === undefined ? undefined : resolve(options.older);
const schemaOf = (version: "newer" | "older", isRead: boolean): string =>
  `${version}_${isRead ? "read" : "unread"}`;
const places: LedgerPlace[] = [true, false].flatMap((isRead) => [
  { schema: schemaOf("newer", isRead), module: NEWER, isRead },
  ...(older === undefined ? [] : [{ schema: schemaOf("older", isRead), module: older, isRead }]),
]);

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const shown = [...(older === undefined ? [] : ["--older …"]), ...(options.quick ? ["--quick"] : [])];
const store = beginRun(["npm run bench:processes", ...(shown.length > 0 ? ["--", ...shown] : [])].join(" "));
const server = await startBenchServer();
const children: Child[] = [];
try {
  const results = await run();
  if (options.store) say(`stored in ${store("processes", results)}`);
} finally {
  await Promise.all(children.map((child) => child.stop()));
  await server.remove();
}

async function run(): Promise<ProcessesResults> {
  await prepare();
  await grow(1);
  const alone = await measureAlone();
  const cells: ProcessesCell[] = [];
  for (const { processes, lines } of FLEETS) {
    await grow(processes);
    for (const what of WORKS.filter(({ work }) => options.only === undefined || options.only === work)) {
      const cell = await measureCell({ processes, lines, ...what });
      cells.push(cell);
      say(describe(cell));
    }
  }
  return { postgres: server.version, connections: CONNECTIONS, alone, cells };
}

/** Allows enough connections, and makes the tables. */
async function prepare(): Promise<void> {
  const most = Math.max(...FLEETS.map(({ processes }) => processes)) * CONNECTIONS + 20;
  await server.restart({ max_connections: String(most) });
  const pool = new Pool({ connectionString: server.url, max: 2 });
  await pool.query("CREATE TABLE public.bare (id text PRIMARY KEY, charge numeric NOT NULL)");
  for (const { schema, module } of places) {
    const version: { readonly createPostgresLedger: typeof createPostgresLedger } = await import(
      pathToFileURL(module).href
    );
    const ledger = version.createPostgresLedger({ pool, schema });
    ledger.setReader?.("record", false);
    ledger.setReader?.("alert", false);
    // Makes the months, as the first sweep of a gateway does.
    await ledger.sweep({ onLost: "charge" });
    await ledger.close();
  }
  await pool.end();
}

async function ask<Reply>(child: Child, order: LedgerOrder): Promise<Reply> {
  const reply: Reply = JSON.parse(await child.ask(order));
  return reply;
}

/** Starts processes until there are as many. */
async function grow(count: number): Promise<void> {
  const script = fileURLToPath(new URL("processes/ledger.ts", import.meta.url));
  while (children.length < count) {
    const started = startChild([process.execPath, script]);
    children.push(started);
    await ask(started, { kind: "open", url: server.url, connections: CONNECTIONS, places });
  }
}

async function measureAlone(): Promise<ProcessesResults["alone"]> {
  const [child] = children;
  if (child === undefined) throw new Error("No process runs.");
  const schemas = places.filter(({ isRead }) => !isRead).map(({ schema }) => schema);
  const order = { kind: "alone", schemas, times: ALONE_TIMES } as const;
  await ask(child, { ...order, times: 20 });
  const times = await ask<Record<string, Times>>(child, order);
  const medianFor = (name: string): number => Number(medianOf(times[name] ?? []).toFixed(2));
  const alone = {
    bare: medianFor("bare"),
    newer: medianFor(schemaOf("newer", false)),
    ...(older !== undefined && { older: medianFor(schemaOf("older", false)) }),
  };
  say(`one request alone: ${JSON.stringify(alone)} ms`);
  return alone;
}

async function measureCell(
  cell: Pick<ProcessesCell, "processes" | "lines" | "work" | "callers" | "isRead">,
): Promise<ProcessesCell> {
  const measured: Record<"newer" | "older", Round[]> = { newer: [], older: [] };
  const versions: readonly ("newer" | "older")[] =
    older === undefined || cell.work === "rows" ? ["newer"] : ["newer", "older"];
  for (let round = 0; round < ROUNDS; round++) {
    for (const version of round % 2 === 0 ? versions : versions.toReversed()) {
      measured[version].push(await measureRound(cell, schemaOf(version, cell.isRead)));
    }
  }
  return { ...cell, ...measured };
}

async function measureRound(
  { processes, lines, work, callers }: Pick<ProcessesCell, "processes" | "lines" | "work" | "callers">,
  schema: string,
): Promise<Round> {
  const order = { kind: "run", schema, work, lines, callers, seconds: ROUND_SECONDS } as const;
  const [began, cpuBegan] = [performance.now(), server.readCpuMs()];
  const replies = await Promise.all(
    children.slice(0, processes).map(async (child) => await ask<RunReply>(child, order)),
  );
  const seconds = (performance.now() - began) / 1000;
  const cpuMs = server.readCpuMs() - cpuBegan;
  const all = replies.flatMap(({ times }) => times);
  const failed = replies.reduce((sum, reply) => sum + reply.failed, 0);
  if (failed > 0) say(`${failed} failed: ${replies.find(({ error }) => error !== undefined)?.error}`);
  return {
    perSecond: Math.round(all.length / seconds),
    p50: percentileOf(all, 0.5),
    p99: percentileOf(all, 0.99),
    serverCpuMs: cpuMs / all.length,
    failed,
  };
}

function describe({ processes, lines, work, callers, isRead, newer, older: before }: ProcessesCell): string {
  const named = `${processes} × ${lines}, ${work}, ${callers} callers${isRead ? ", delivered" : ""}`;
  return `${named}: ${showRounds(newer)}${before.length > 0 ? `; before ${showRounds(before)}` : ""}`;
}

function showRounds(rounds: readonly Round[]): string {
  const show = (key: keyof Round, digits: number): string =>
    medianOf(rounds.map((round) => round[key])).toFixed(digits);
  return `${show("perSecond", 0)}/s, p50 ${show("p50", 1)} ms, p99 ${show("p99", 1)} ms, ${show("serverCpuMs", 3)} ms of the server's CPU`;
}
