import type { HoldRecord, NewTask, TaskLedger, TaskSweepOptions } from "@calotype/core/stores";
import { holdOf } from "./entries.js";

/** The task of a name, and its hold of 0.5. */
export function submissionOf(name: string, rest: Partial<NewTask> = {}): readonly [NewTask, HoldRecord] {
  const task: NewTask = {
    id: `task_${name}`,
    requestId: `req_${name}`,
    caller: "me",
    model: "seedream",
    operation: "generate",
    input: `input of ${name}`,
    webhooks: [],
    ttlMs: 3_600_000,
    keepMs: 3_600_000,
    ...rest,
  };
  return [task, holdOf({ id: task.requestId, caller: task.caller, task: task.id })];
}

/** Submits a task that must be accepted. */
export async function submit(
  { tasks }: Pick<TaskLedger, "tasks">,
  name: string,
  rest?: Partial<NewTask>,
): Promise<void> {
  const { kind } = await tasks.submit(...submissionOf(name, rest));
  if (kind !== "submitted") throw new Error(`The task ${name} was not submitted: ${kind}.`);
}

/** Options of a sweep that charges lost tasks. */
export const SWEEP: TaskSweepOptions = { onLost: "charge", lostError: "lost", expiredError: "expired" };
