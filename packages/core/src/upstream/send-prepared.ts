import { type AttemptOutcome, type AttemptParts, type PreparedAttempt, sendAttempt } from "./attempt.js";
import type { AttemptContext } from "./kept-task.js";
import type { TaskParts } from "./provider-task.js";

/** Sends a prepared call once. If the provider works with tasks, waits for the end of the task too. Does not reject. */
export function sendPrepared(
  attempt: PreparedAttempt,
  parts: AttemptParts & TaskParts,
  context: AttemptContext,
): Promise<AttemptOutcome> {
  const { tasks } = attempt.route.channel.dialect;
  if (tasks === undefined) return sendAttempt(attempt, parts, context);
  // Most gateways have no such provider.
  return import("./provider-task.js").then(({ runProviderTask }) =>
    runProviderTask({ attempt, protocol: tasks, parts, context }),
  );
}
