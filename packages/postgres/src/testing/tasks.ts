import type { HoldRecord, NewTask, TaskEnd, TaskLedger, TaskSweepOptions } from "@calotype/core/stores";
import { holdOf, recordOf } from "./entries.js";

const HOUR_MS = 3_600_000;

export const SWEEP: TaskSweepOptions = { onLost: "charge", lostError: "lost", expiredError: "expired" };

/** The task of a name, such as `task_1`, and its hold of 0.5. */
export function taskOf(
  name: string,
  { budget, ...rest }: Partial<NewTask> & Pick<Partial<HoldRecord>, "budget"> = {},
): readonly [NewTask, HoldRecord] {
  const task: NewTask = {
    id: `task_${name}`,
    requestId: `req_${name}`,
    caller: "me",
    model: "seedream",
    operation: "generate",
    input: `input of ${name}`,
    webhooks: [],
    ttlMs: HOUR_MS,
    keepMs: HOUR_MS,
    ...rest,
  };
  const { id, requestId, caller } = task;
  return [task, holdOf({ id: requestId, task: id, caller, budget, ttlMs: 0 })];
}

/** The end of a completed task, with its record. */
export function completionOf(name: string): TaskEnd {
  const record = recordOf({ id: `req_${name}`, task: `task_${name}` });
  return { id: `task_${name}`, status: "completed", result: "{}", record };
}

/** Takes at most 100 tasks and returns their names. */
export async function takeNames(
  { tasks }: Pick<TaskLedger, "tasks">,
  except: readonly string[] = [],
  limit = 100,
): Promise<string[]> {
  return (await tasks.take({ limit, except })).map(({ id }) => id.replace("task_", ""));
}
