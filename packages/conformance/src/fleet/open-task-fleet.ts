import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LostPolicy } from "@calotype/core/billing";
import { findTaskProblems } from "../crashes/find-task-problems.ts";
import { readMarks } from "../crashes/note-marks.ts";
import { type EndedTasks, hasEnded, isQuiet, tallyTasks, toProblems } from "../crashes/open-task-site.ts";
import { readTaskLedger, type TaskLedgerContent } from "../crashes/read-ledger-file.ts";
import { createRandom } from "../crashes/seeded-random.ts";
import { CALLERS } from "../crashes/server-plan.ts";
import type { TaskSighting } from "../crashes/task-client.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../crashes/webhook-receiver.ts";
import { type Fleet, openFleet, type Place } from "./open-fleet.ts";

/** A fleet whose clients submit tasks, and are told their ends. */
export interface TaskFleet extends Fleet {
  readonly receiver: WebhookReceiver;
  readonly marksPath: string;
  /** What the clients of all tasks saw. */
  readonly taskSightings: TaskSighting[];
}

/** What a fleet is opened with. */
export interface TaskFleetOptions {
  readonly processes: number;
  readonly onLost: LostPolicy;
  readonly seed: number;
}

/** A busy machine may pause a process for a second or two, and must not lose its lease. */
const LEASE_SECONDS = 4;
const ADMISSION_LEASE_SECONDS = 2;

/** Opens a fleet with an empty ledger. Its gateways run tasks from their start. */
export async function openTaskFleet(
  place: Place,
  { processes, onLost, seed }: TaskFleetOptions,
): Promise<TaskFleet> {
  const folder = mkdtempSync(join(tmpdir(), "calotype-fleet-"));
  const marksPath = join(folder, "marks");
  const receiver = await startWebhookReceiver(createRandom(seed));
  const close = async (): Promise<void> => {
    await receiver.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const fleet = await openFleet(processes, place, {
      onLost,
      leaseSeconds: LEASE_SECONDS,
      admissionLeaseSeconds: ADMISSION_LEASE_SECONDS,
      tasks: { webhookUrl: receiver.url, marksPath },
    });
    return {
      ...fleet,
      receiver,
      marksPath,
      taskSightings: [],
      async close() {
        await fleet.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Lets one gateway after the other sweep, look for tasks and send webhooks. Returns the function that ends this. */
export function sweepInTurn({ nextUrl }: Pick<Fleet, "nextUrl">): () => Promise<void> {
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // The gateway may be dead, or be about to end.
      await fetch(`${nextUrl()}/sweep`, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
      await sleep(200);
    }
  };
  const running = run();
  return async () => {
    stopping.abort();
    await running;
  };
}

/** The leases must end, and a busy machine takes its time. */
const PATIENCE_MS = 20_000;

/** Waits until all tasks have ended and all messages have arrived. */
export async function endFleetTasks(fleet: TaskFleet): Promise<EndedTasks> {
  const stopSweeping = sweepInTurn(fleet);
  await readWhen(fleet, hasEnded);
  // Messages that a killed gateway was sending, or that were refused, are due after some time only.
  await fleet.ledger.outbox.replay({ state: "waiting" });
  const content = await readWhen(fleet, isQuiet);
  await stopSweeping();
  const evidence = {
    ...fleet,
    marks: readMarks(fleet.marksPath),
    deliveries: fleet.receiver.deliveries,
  };
  const errors = fleet.servers.flatMap(toProblems);
  return {
    problems: [...errors, ...findTaskProblems(evidence, content)],
    counted: tallyTasks(content.tasks),
  };
}

/** Reads the ledger when it is as it should be, or after the time. */
async function readWhen(
  { ledger }: Pick<Fleet, "ledger">,
  isDone: (content: TaskLedgerContent) => boolean,
): Promise<TaskLedgerContent> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const content = await readTaskLedger(ledger, Object.keys(CALLERS));
    if (isDone(content) || performance.now() > deadline) return content;
    await sleep(50);
  }
}
