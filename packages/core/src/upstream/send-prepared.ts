import { type AttemptOutcome, type AttemptParts, type PreparedAttempt, sendAttempt } from "./attempt.js";
import type { TaskContext } from "./kept-task.js";
import type { TaskParts } from "./provider-task.js";

/** Sends a prepared call once. If the provider works with tasks, waits for the end of the task too. Does not reject. */
export async function sendPrepared(
  attempt: PreparedAttempt,
  parts: AttemptParts & TaskParts,
  context: TaskContext = {},
): Promise<AttemptOutcome> {
  const { tasks } = attempt.route.channel.dialect;
  if (tasks === undefined) return sendAttempt(attempt, parts);
  // Most gateways have no such provider.
  const { runProviderTask } = await import("./provider-task.js");
  return runProviderTask({ attempt, protocol: tasks, parts, context });
}
