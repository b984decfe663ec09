import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LostPolicy } from "@calotype/core/stores";
import { createRandom, type Random } from "../fleet-simulation/create-random.ts";
import { spawnProgram } from "../postgres/spawn-program.ts";
import { startTcpRelay, type TcpRelay } from "../support/tcp-relay.ts";
import type { ProcessPlan } from "./client-process.ts";
import { BUDGETS, type ClientPlan } from "./draw-operation.ts";
import { FINAL_PROCESS, type History } from "./history.ts";
import { createStore, LEASE_SECONDS, openLedger, type Store, type StoreAddress } from "./open-store.ts";
import { type ClientLedger, type Line, makeCall, type Recorder, runClient, toCalls } from "./run-client.ts";

/** What happens to a process of a round. */
export type Fault =
  /** It gets SIGKILL, and another process takes its place. */
  | "kill"
  /** It is stopped for longer than its lease. */
  | "pause"
  /** Its clock is moved by hours. */
  | "clock"
  /** Its connections to PostgreSQL are closed, and new ones are refused for a moment. */
  | "cut"
  /** Its connections to PostgreSQL deliver nothing for a while, some for longer than its calls wait. */
  | "silence"
  /** For a while, some replies of PostgreSQL are lost with their connections. */
  | "loss";

/** Clients that use one ledger at the same time. The seed decides what they do, but not when. */
export interface Round {
  readonly ledger: "memory" | StoreAddress["kind"];
  readonly seed: number;
  readonly onLost: LostPolicy;
  /** The processes that share the ledger. */
  readonly processes: number;
  /** Whether they are processes of their own. Otherwise each is a ledger object in this process. */
  readonly isSpawned: boolean;
  /** The clients of each process. */
  readonly clients: number;
  /** The calls of each client. */
  readonly steps: number;
  /** What happens to each process. A process of this process can only lose its connections. */
  readonly faults: readonly Fault[];
}

/** The result of a round. */
export interface RoundResult {
  readonly history: History;
  /** What is wrong already. */
  readonly problems: readonly string[];
}

/** A process of a round, in the place of those that were killed before. */
interface ClientProcess {
  readonly number: number;
  readonly relay?: TcpRelay | undefined;
  readonly place?: StoreAddress | undefined;
  readonly faults: readonly { readonly fault: Fault; readonly at: number }[];
  readonly random: Random;
}

/** What a fault is done to. */
interface Target {
  readonly signal: (name: NodeJS.Signals) => void;
  readonly moveClock: (ms: number) => void;
}

const CLIENT_PROCESS = new URL("client-process.ts", import.meta.url);
const HOUR_MS = 3_600_000;

/**
 * Runs a round.
 *
 * @param change makes a ledger of this process wrong, to test the checks
 */
export async function runRound(
  round: Round,
  change: (ledger: ClientLedger) => ClientLedger = (ledger) => ledger,
): Promise<RoundResult> {
  const store = createStore(round.ledger);
  const relays: TcpRelay[] = [];
  try {
    await createBudgets(store);
    const members = await Promise.all(
      Array.from({ length: round.processes }, (_, number) => createMember(round, store, number)),
    );
    relays.push(...members.flatMap(({ relay }) => relay ?? []));
    const run = round.isSpawned ? runSpawned : runHere;
    const ended = await Promise.all(members.map((member) => run(member, { round, store, change })));
    // Not before the others have ended: the holds of a ledger that is closed are lost at once.
    await Promise.all(ended.map(({ close }) => close()));
    const lines = ended.flatMap((member) => member.lines);
    const last = await store.openLast();
    const final = await finish({ ...last, ledger: change(last.ledger) }, round, lines);
    await last.close();
    return toResult(round, [...lines, ...final]);
  } finally {
    await Promise.all(relays.map((relay) => relay.close()));
    await store.remove();
  }
}

async function createBudgets(store: Store): Promise<void> {
  const { ledger, close } = store.openFirst();
  for (const [caller, budget] of Object.entries(BUDGETS)) {
    await ledger.callers.create(caller, () => ({
      caller: { settings: String(budget), keys: [] },
      audit: { by: "test", action: "create", details: "" },
    }));
  }
  await close();
}

/** A member with its faults. Each happens when the member has written so many lines. */
async function createMember(
  { seed, steps, clients, faults }: Round,
  { place }: Store,
  number: number,
): Promise<ClientProcess> {
  const random = createRandom(seed, `member ${number}`);
  const planned = faults.map((fault) => ({ fault, at: Math.floor(random() * 2 * steps * clients) }));
  const member = { number, random, faults: planned.toSorted((one, other) => one.at - other.at) };
  if (place?.kind !== "postgres" || faults.length === 0) return { ...member, place };
  const { hostname, port } = new URL(place.url);
  const relay = await startTcpRelay({ host: hostname, port: Number(port || 5432) });
  const url = new URL(place.url);
  url.host = `127.0.0.1:${relay.port}`;
  return { ...member, relay, place: { ...place, url: url.href } };
}

interface Context {
  readonly round: Round;
  readonly store: Store;
  readonly change: (ledger: ClientLedger) => ClientLedger;
}

/** A member whose clients have taken all steps. */
interface Ended {
  readonly lines: readonly Line[];
  /** Closes what is open in this process. */
  readonly close: () => Promise<void>;
}

/** Of clients in other processes: their faults come while they work, and dead processes lose their holds before the others end. */
const PAUSE_MS = 40;

const planClients = (
  { seed, processes, isSpawned, clients, faults, ledger }: Round,
  number: number,
): ClientPlan[] =>
  Array.from({ length: clients }, (_, at) => ({
    seed,
    client: number * clients + at,
    clients: processes * clients,
    pauseMs: isSpawned ? PAUSE_MS : 0,
    // With clocks that differ, another process than the one that is killed may still see its lease.
    hasLists: number + at === 0 && (ledger !== "sqlite" || !faults.includes("clock")),
  }));

/** Runs the clients of a member in this process. */
async function runHere(member: ClientProcess, { round, store, change }: Context): Promise<Ended> {
  const opened = member.place === undefined ? store.openFirst() : openLedger(member.place);
  const lines: Line[] = [];
  const faults = createFaults(member);
  const recorder: Recorder = {
    ledger: change(opened.ledger),
    process: `p${member.number}`,
    onLost: round.onLost,
    note: (line) => {
      lines.push(line);
      faults.reach(lines.length, {
        signal: () => undefined,
        moveClock: () => undefined,
      });
    },
  };
  const steps = { from: 0, to: round.steps };
  await Promise.all(planClients(round, member.number).map((plan) => runClient(recorder, plan, steps)));
  await faults.done();
  return { lines, close: opened.close };
}

/** Runs the clients of a member in a process of its own, and in another one after each kill. */
async function runSpawned(member: ClientProcess, { round }: Context): Promise<Ended> {
  const folder = mkdtempSync(join(tmpdir(), "calotype-lines-"));
  try {
    return { lines: await runLives(member, round, folder), close: async () => undefined };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs one process after the other, until all steps are taken. Returns what they have written to files of the folder. */
async function runLives(member: ClientProcess, round: Round, folder: string): Promise<Line[]> {
  if (member.place === undefined) throw new TypeError("Processes cannot share this ledger.");
  const lines: Line[] = [];
  const faults = createFaults(member);
  let from = 0;
  for (let life = 0; from < round.steps; life++) {
    const plan: ProcessPlan = {
      place: member.place,
      process: `p${member.number}.${life}`,
      onLost: round.onLost,
      clients: planClients(round, member.number),
      file: join(folder, String(life)),
      from,
      to: round.steps,
    };
    const { child, tell, output } = spawnProgram(CLIENT_PROCESS, [JSON.stringify(plan)]);
    const target: Target = {
      signal: (name) => void child.kill(name),
      moveClock: (ms) => tell(String(ms)),
    };
    const timer = setInterval(() => faults.reach(lines.length + countLines(plan.file), target), POLL_MS);
    await output.finally(() => clearInterval(timer));
    lines.push(...readLines(plan.file));
    const begun = lines.filter((line) => "begin" in line).length;
    // A process that has come to its end has taken all steps.
    from = child.signalCode === null ? round.steps : Math.max(from, Math.floor(begun / round.clients));
  }
  await faults.done();
  return lines;
}

const POLL_MS = 10;
/** Of the mean line. */
const BYTES_PER_LINE = 400;

/** An estimate of the lines in a file. */
const countLines = (path: string): number => (existsSync(path) ? statSync(path).size / BYTES_PER_LINE : 0);

/** A killed process may leave its last line incomplete. */
function readLines(path: string): Line[] {
  const written = existsSync(path) ? readFileSync(path, "utf8") : "";
  return written
    .split("\n")
    .slice(0, -1)
    .map((line): Line => JSON.parse(line));
}

/** Does the faults of a member, one after the other. */
function createFaults({ faults, relay, random }: ClientProcess) {
  const left = [...faults];
  let running = Promise.resolve();
  return {
    /** The member has written so many lines. */
    reach(written: number, target: Target): void {
      for (let next = left[0]; next !== undefined && next.at <= written; next = left[0]) {
        left.shift();
        const { fault } = next;
        running = running.then(() => doFault(fault, { relay, random, target }));
      }
    },
    done: () => running,
  };
}

async function doFault(
  fault: Fault,
  {
    relay,
    random,
    target,
  }: { readonly relay: TcpRelay | undefined; readonly random: Random; readonly target: Target },
): Promise<void> {
  switch (fault) {
    case "kill":
      return target.signal("SIGKILL");
    case "pause":
      target.signal("SIGSTOP");
      await sleep((1.1 + random()) * LEASE_SECONDS * 1_000);
      return target.signal("SIGCONT");
    case "clock":
      return target.moveClock(Math.round((random() - 0.5) * 8 * HOUR_MS));
    case "cut":
      await relay?.set("down");
      await sleep(random() * 200);
      return await relay?.set("up");
    case "loss":
      await relay?.set("lossy");
      await sleep(random() * 3_000);
      return await relay?.set("up");
    case "silence":
      await relay?.set("silent");
      await sleep(random() * 3_000);
      return await relay?.set("up");
  }
}

/** Ends all holds, and reads everything. */
async function finish(
  { ledger }: { readonly ledger: ClientLedger },
  { onLost }: Round,
  before: readonly Line[],
): Promise<Line[]> {
  const lines: Line[] = [];
  const recorder: Recorder = {
    ledger,
    process: FINAL_PROCESS,
    onLost,
    note: (line) => void lines.push(line),
  };
  const callers = new Set(
    before.flatMap((line) =>
      "begin" in line && (line.kind === "hold" || line.kind === "settle") ? [line.input.caller] : [],
    ),
  );
  await makeCall(recorder, { kind: "sweep", input: null });
  for (const caller of Object.keys(BUDGETS))
    await makeCall(recorder, { kind: "readBudget", input: { caller } });
  for (const caller of callers) {
    await makeCall(recorder, { kind: "balance", input: { caller } });
    await makeCall(recorder, { kind: "records", input: { caller } });
  }
  await makeCall(recorder, { kind: "list", input: null });
  return lines;
}

/** The faults of connections. */
const LOSSES = new Set<Fault>(["cut", "silence", "loss"]);
/** What a lost connection, a silent one, and the locks of a process that is stopped make of a call; and of a hold after such a call. */
const OUTAGE =
  /Connection terminated|not queryable|ECONNRE|EPIPE|did not respond|took longer|timeout|locked for longer|file locked|released before it was made/;

/** Whether a fault explains that a call failed. */
function mayFail(
  { number, error }: Extract<Line, { readonly error: string }>,
  faults: readonly Fault[],
): boolean {
  const isStopped = faults.includes("pause") || faults.some((fault) => LOSSES.has(fault));
  return isStopped && !number.startsWith(FINAL_PROCESS) && OUTAGE.test(error);
}

function toResult({ onLost, ledger, faults }: Round, lines: readonly Line[]): RoundResult {
  const calls = toCalls(lines);
  const final = calls.filter(({ process }) => process === FINAL_PROCESS);
  const failed = lines.flatMap((line) => ("error" in line && !mayFail(line, faults) ? [line.error] : []));
  const held = final.filter((call) => call.kind === "balance" && call.result?.held !== "0");
  const safeNs = ledger === "sqlite" && faults.includes("clock") ? 0 : (LEASE_SECONDS / 2) * 1e9;
  return {
    history: {
      calls,
      onLost,
      safeNs,
      losesReplies: faults.some((fault) => LOSSES.has(fault)),
      budgets: BUDGETS,
    },
    problems: [
      ...new Set(failed.map((error) => `A call fails for no reason: ${error}`)),
      ...held.map((call) => `Money is held at the end: ${JSON.stringify(call)}`),
    ],
  };
}
