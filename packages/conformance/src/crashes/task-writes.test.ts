import { Agent } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ServerProcess } from "../support/spawn-server.js";
import { isFull, SEED } from "../support/test-run.js";
import { modelOf } from "./call-server.js";
import { describeEnd } from "./find-task-problems.js";
import { endTasks, hasEnded, openTaskSite, readWhen, type TaskSite } from "./open-task-site.js";
import { readLedgerFile } from "./read-ledger-file.js";
import type { Death, TaskWrite } from "./server-plan.js";
import { type PlannedTask, runTaskClient, type TaskSighting } from "./task-client.js";

/** A write of the task store, and how the task may end if the server is killed before and after it. */
interface TaskRow {
  readonly method: TaskWrite;
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** What its client does. Default: it submits one image for a caller without limits. */
  readonly task?: Partial<PlannedTask>;
}

const LOST = "failed outcome_unknown";
/** Another task of this caller runs. */
const BUSY = { caller: "busy" } as const;

const ROWS: readonly TaskRow[] = [
  { method: "submit", before: ["not stored"], after: ["completed"] },
  // The client repeats its submission.
  { method: "submit", before: ["completed"], after: ["completed"], task: { hasKey: true } },
  { method: "take", before: ["completed"], after: ["completed"] },
  { method: "markSent", before: ["completed"], after: [LOST] },
  // The end of the task may be in the same transaction as its last image.
  {
    method: "addImages",
    before: [LOST],
    after: [LOST, "completed"],
    task: { n: 3, single: true },
  },
  { method: "end", before: [LOST], after: ["completed"] },
  // The channel cannot be reached.
  { method: "end", before: [LOST], after: ["failed upstream_unreachable"], task: { nowhere: true } },
  { method: "putBack", before: ["completed"], after: ["completed"], task: BUSY },
  // The client repeats the cancellation, and the next server may have sent the task by then.
  {
    method: "cancel",
    before: ["cancelled", "completed"],
    after: ["cancelled"],
    task: { ...BUSY, cancelAfterMs: 60 },
  },
  // The server was killed when the task was marked as sent, and the next one is killed when it sweeps.
  { method: "sweep", before: [LOST], after: [LOST] },
];

/** All rows, or in `npm test` every second one, so that each row has one of the two moments. */
const rowsOf = (moment: Death["moment"]): readonly TaskRow[] =>
  ROWS.filter((_, index) => isFull() || index % 2 === (moment === "before" ? 0 : 1));

describe.each([
  ["before", "charge"],
  ["after", "release"],
] as const)("a server that is killed %s a write of its task store (onLost: %s)", (moment, onLost) => {
  it("has sent no task twice, and every task ends once", { timeout: 90_000 }, async () => {
    const site = await openTaskSite(onLost, SEED);
    onTestFinished(() => site.close());
    // A task is in progress for as long.
    site.emulator.faults.add({ latencyMs: 250 });
    const writes = new WriteKills(site);
    const rows = rowsOf(moment);
    for (const [index, row] of rows.entries()) {
      await writes.dieAt({ method: row.method, moment, call: 1 }, planTask(row, index));
    }
    site.taskSightings.push(...(await writes.finish()));
    const { problems } = await endTasks(site);
    expect([...writes.problems, ...problems]).toEqual([]);

    const { tasks } = await readLedgerFile(site.ledgerPath);
    const ends = rows.map((row, index) => {
      const model = modelOf(planTask(row, index));
      const task = tasks.find((one) => one.model === model);
      const end = task === undefined ? "not stored" : describeEnd(task);
      return { method: row.method, end, isExpected: row[moment].includes(end) };
    });
    expect(ends.filter(({ isExpected }) => !isExpected)).toEqual([]);
  });
});

function planTask({ method, task }: TaskRow, index: number): PlannedTask {
  const name = `${index}-${method}`;
  return { name, caller: "shop", n: 1, stream: false, hasKey: false, follow: "none", ...task };
}

/** The time limit for the tasks of earlier kills. */
const PATIENCE_MS = 10_000;

/** Kills one server after the other. Their clients go on with the next server. */
class WriteKills {
  readonly problems: string[] = [];
  readonly #site: TaskSite;
  readonly #agent = new Agent();
  readonly #clients: Promise<TaskSighting>[] = [];
  #url = "";

  constructor(site: TaskSite) {
    this.#site = site;
  }

  async dieAt(death: Death, planned: PlannedTask): Promise<void> {
    if (death.method === "sweep") {
      await this.#kill({ method: "markSent", moment: "after", call: 1 }, planned);
      await this.#killAtStart(death);
    } else await this.#kill(death, planned);
  }

  /** Resolves with what the clients saw. */
  async finish(): Promise<readonly TaskSighting[]> {
    const sightings = await Promise.all(this.#clients);
    this.#agent.destroy();
    return sightings;
  }

  /** Starts a server, submits a task, and waits until the server is dead. */
  async #kill(death: Death, planned: PlannedTask): Promise<void> {
    const resultsPath = join(this.#site.ledgerPath, "../results");
    const server = await this.#site.startServer({ death, resultsPath });
    this.#url = server.url;
    // A client that repeats its request would meet this kill in place of the client of this row.
    await Promise.all(this.#clients);
    await readWhen(this.#site, hasEnded, PATIENCE_MS);
    if (planned.caller === "busy") await this.#occupy(planned);
    await fetch(`${server.url}/arm`);
    this.#submit(planned);
    await this.#untilDead(server, death);
  }

  async #untilDead(server: ServerProcess, { method, moment }: Death): Promise<void> {
    await Promise.race([server.ended, sleep(5_000)]);
    this.problems.push(...server.errors());
    if (!server.isKilled()) {
      this.problems.push(`Nothing died ${moment} ${method}`);
      await server.kill();
    }
  }

  /** The server may be dead before it listens. */
  async #killAtStart(death: Death): Promise<void> {
    const server = await this.#site.startServer({ death }).catch(() => undefined);
    if (server !== undefined) await this.#untilDead(server, death);
  }

  /** Begins a task of the caller that may run one at a time. */
  async #occupy(planned: PlannedTask): Promise<void> {
    this.#submit({ ...planned, name: `${planned.name}-first`, cancelAfterMs: undefined });
    await this.#clients.at(-1);
    await readWhen(
      this.#site,
      ({ tasks }) => tasks.some(({ status }) => status === "in_progress"),
      PATIENCE_MS,
    );
  }

  #submit(planned: PlannedTask): void {
    const patience = AbortSignal.timeout(PATIENCE_MS);
    const options = { nextUrl: () => this.#url, agent: this.#agent, isOver: () => patience.aborted };
    this.#clients.push(runTaskClient(planned, options));
  }
}
