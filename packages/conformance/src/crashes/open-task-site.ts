import { setTimeout as sleep } from "node:timers/promises";
import type { LostPolicy } from "@calotype/core/billing";
import { createSqliteLedger } from "@calotype/sqlite";
import type { ServerProcess } from "../support/spawn-server.ts";
import { describeEnd, findTaskProblems } from "./find-task-problems.ts";
import { readMarks } from "./note-marks.ts";
import { openSite, type Site } from "./open-site.ts";
import { readLedgerFile, type TaskLedgerContent } from "./read-ledger-file.ts";
import { createRandom } from "./seeded-random.ts";
import type { TaskSighting } from "./task-client.ts";
import { startWebhookReceiver, type WebhookReceiver } from "./webhook-receiver.ts";

/** A site whose clients submit tasks, and are told their ends. */
export interface TaskSite extends Site {
  readonly receiver: WebhookReceiver;
  readonly marksPath: string;
  /** What the clients of all tasks saw. */
  readonly taskSightings: TaskSighting[];
}

/** Opens a site with an empty ledger. */
export async function openTaskSite(onLost: LostPolicy, seed: number): Promise<TaskSite> {
  const site = await openSite(onLost, seed);
  const receiver = await startWebhookReceiver(createRandom(seed));
  const marksPath = `${site.ledgerPath}.marks`;
  return {
    ...site,
    receiver,
    marksPath,
    taskSightings: [],
    startServer: (changes) => site.startServer({ webhookUrl: receiver.url, marksPath, ...changes }),
    async close() {
      await site.close();
      await receiver.close();
    },
  };
}

/** The time limit for the tasks that are left, on a busy machine. */
const PATIENCE_MS = 15_000;
/** How long a server gets for messages. Those that an earlier server was sending can be sent when their leases end. */
const ROUND_MS = 700;
const ROUNDS = 6;

/** The tasks of a site at the end. */
export interface EndedTasks {
  /** The differences between the ledger and the facts of clients, provider and receiver, and the errors of servers. */
  readonly problems: readonly string[];
  /** How many tasks ended how, such as `completed` or `failed outcome_unknown`. */
  readonly counted: Readonly<Record<string, number>>;
}

/** Starts servers until all tasks have ended and all messages have arrived, and shuts them down. */
export async function endTasks(site: TaskSite): Promise<EndedTasks> {
  const errors: string[] = [];
  let content: TaskLedgerContent | undefined;
  for (let round = 0; round < ROUNDS && !(content && isQuiet(content)); round++) {
    const server = await site.startServer();
    await readWhen(site, hasEnded, PATIENCE_MS);
    content = await readWhen(site, isQuiet, ROUND_MS);
    const exitCode = await server.stop();
    await replayWaiting(site);
    errors.push(...toProblems(server), ...(exitCode === 0 ? [] : [`The server ended with ${exitCode}`]));
  }
  content = await readLedgerFile(site.ledgerPath);
  return { problems: [...errors, ...findSiteProblems(site, content)], counted: tallyTasks(content.tasks) };
}

/** Messages that failed several times on a busy machine are due in minutes. The next server sends them at once. */
async function replayWaiting({ ledgerPath }: Pick<Site, "ledgerPath">): Promise<void> {
  const ledger = createSqliteLedger({ path: ledgerPath });
  await ledger.outbox.replay({ state: "waiting" });
  await ledger.close();
}

/** What a server wrote to stderr, as one problem. */
export function toProblems(server: Pick<ServerProcess, "errors">): string[] {
  const lines = server.errors();
  return lines.length === 0 ? [] : [`A server logged an error: ${lines.join("\n")}`];
}

/** Counts tasks by status, and failed ones also by their code. */
export function tallyTasks(tasks: TaskLedgerContent["tasks"]): Readonly<Record<string, number>> {
  const byEnd = Map.groupBy(tasks, describeEnd);
  return Object.fromEntries([...byEnd].map(([end, of]) => [end, of.length]));
}

function findSiteProblems(site: TaskSite, content: TaskLedgerContent): string[] {
  const { marksPath, receiver } = site;
  return findTaskProblems({ ...site, marks: readMarks(marksPath), deliveries: receiver.deliveries }, content);
}

type Condition = (content: TaskLedgerContent) => boolean;

/** True if all tasks have ended and nothing is held. */
export const hasEnded: Condition = ({ tasks, balances }) =>
  tasks.every(({ endedAt }) => endedAt !== undefined) &&
  Object.values(balances).every(({ held }) => held === "0");

/** True if, besides, no message waits to be sent. */
export const isQuiet: Condition = (content) =>
  hasEnded(content) && content.messages.every(({ state }) => state !== "waiting");

/** Reads the ledger when it is as it should be, or after the time. */
export async function readWhen(
  { ledgerPath }: Pick<Site, "ledgerPath">,
  isDone: Condition,
  ms: number,
): Promise<TaskLedgerContent> {
  const deadline = performance.now() + ms;
  for (;;) {
    const content = await readLedgerFile(ledgerPath);
    if (isDone(content) || performance.now() > deadline) return content;
    await sleep(30);
  }
}
