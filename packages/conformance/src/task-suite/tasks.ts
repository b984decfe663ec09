import type { SettledRecord, UnresolvedRecord } from "@calotype/core/billing";
import type {
  HoldRecord,
  NewTask,
  TakenTask,
  Task,
  TaskEnd,
  TaskLedger,
  TaskStore,
  TaskSubmission,
  TaskSweep,
  TaskSweepOptions,
} from "@calotype/core/stores";
import { START } from "../ledger-suite/clock.js";
import { holdOf, recordOf, unresolvedOf } from "../ledger-suite/entries.js";

/** How long the tasks of the tests may wait. */
export const TTL_MS = 60_000;
/** How long the tasks of the tests are kept after their end. */
export const KEEP_MS = 600_000;
export const LOST_ERROR = '{"code":"outcome_unknown"}';
export const EXPIRED_ERROR = '{"code":"task_expired"}';

/** The fields of a task and of its hold that a test may set. */
export type TaskFields = Partial<NewTask> & Pick<Partial<HoldRecord>, "amount" | "budget" | "group" | "time">;

/** The task of a name, such as `task_1`, and its hold of 0.5. */
export function submissionOf(name: string, fields: TaskFields = {}): readonly [NewTask, HoldRecord] {
  const { amount = "0.5", budget, group = "default", time = new Date(START).toISOString(), ...rest } = fields;
  const task: NewTask = {
    id: `task_${name}`,
    requestId: `req_${name}`,
    caller: "me",
    model: "seedream",
    operation: "generate",
    input: inputOf(name),
    webhooks: [],
    ttlMs: TTL_MS,
    keepMs: KEEP_MS,
    ...rest,
  };
  const { id, requestId, caller, model, operation } = task;
  const facts = { caller, model, operation, amount, budget, group, time };
  return [task, holdOf({ ...facts, id: requestId, task: id, ttlMs: 0 })];
}

/** The input of the task with this name. */
export const inputOf = (name: string): string => `{"prompt":"${name}"}`;

/** Submits the task of a name. */
export async function submit(
  { tasks }: Pick<TaskLedger, "tasks">,
  name: string,
  fields?: TaskFields,
): Promise<TaskSubmission> {
  return await tasks.submit(...submissionOf(name, fields));
}

/** Submits tasks of these names, one after the other. */
export async function submitAll(
  ledger: Pick<TaskLedger, "tasks">,
  names: Iterable<string>,
  fields?: TaskFields,
): Promise<void> {
  for (const name of names) {
    const { kind } = await submit(ledger, name, fields);
    if (kind !== "submitted") throw new Error(`The task ${name} was not submitted: ${kind}.`);
  }
}

/** The task of a name as clients see it. */
export function taskOf(name: string, rest: Partial<Task> = {}): Task {
  return {
    id: `task_${name}`,
    requestId: `req_${name}`,
    caller: "me",
    model: "seedream",
    operation: "generate",
    status: "queued",
    createdAt: START,
    expiresAt: START + TTL_MS,
    images: [],
    ...rest,
  };
}

/** The settled record of the task with this name, with a charge of 0.3. */
export function taskRecordOf(name: string, rest: Partial<SettledRecord> = {}): SettledRecord {
  return recordOf({ id: `req_${name}`, task: `task_${name}`, ...rest });
}

/** The record that a sweep makes of the lost task with this name. */
export function lostRecordOf(name: string, rest: Partial<UnresolvedRecord> = {}): UnresolvedRecord {
  return unresolvedOf({ id: `req_${name}`, task: `task_${name}`, ...rest });
}

/** The end of a completed task, with its record. */
export function completionOf(name: string, rest: Partial<TaskEnd> = {}): TaskEnd {
  return {
    id: `task_${name}`,
    status: "completed",
    result: `{"data":"${name}"}`,
    record: taskRecordOf(name),
    ...rest,
  };
}

/** Takes at most `limit` tasks. */
export async function take(
  { tasks }: Pick<TaskLedger, "tasks">,
  limit = 100,
  except: readonly string[] = [],
): Promise<readonly TakenTask[]> {
  return await tasks.take({ limit, except });
}

/** Submits, takes and sends the task of a name. The queue must be empty. */
export async function start(
  ledger: Pick<TaskLedger, "tasks">,
  name: string,
  fields?: TaskFields,
): Promise<void> {
  await submitAll(ledger, [name], fields);
  const taken = await take(ledger, 1);
  const id = `task_${name}`;
  if (taken[0]?.id !== id || !(await ledger.tasks.markSent(id))) throw new Error(`${id} cannot be started.`);
}

/** Sweeps with the errors of these tests; lost tasks are charged. */
export async function sweepTasks(
  { tasks }: Pick<TaskLedger, "tasks">,
  options: Partial<TaskSweepOptions> = {},
): Promise<TaskSweep> {
  return await tasks.sweep({
    onLost: "charge",
    lostError: LOST_ERROR,
    expiredError: EXPIRED_ERROR,
    ...options,
  });
}

/** All tasks of a caller, the newest first, read page by page. */
export async function listAll(tasks: TaskStore, caller = "me"): Promise<Task[]> {
  const all: Task[] = [];
  for (;;) {
    const page = await tasks.list(caller, { limit: 100, after: all.at(-1)?.id });
    all.push(...page);
    if (page.length < 100) return all;
  }
}

/** The names of tasks, in order: `task_1` is `1`. */
export const namesOf = (tasks: readonly { readonly id: string }[]): string[] =>
  tasks.map(({ id }) => id.replace(/^task_/, ""));
