import { isJsonObject, type JsonObject } from "../../util/json.js";
import { readDelivered } from "../converted-requests/converted-requests.js";

/** DashScope's names of the states of a task. */
const STATES: Readonly<Record<string, string>> = {
  queued: "PENDING",
  in_progress: "RUNNING",
  completed: "SUCCEEDED",
  failed: "FAILED",
  cancelled: "CANCELED",
};

/** The response to a submission. */
export function toSubmitted({ id, status }: JsonObject, requestId: string): JsonObject {
  return { request_id: requestId, output: { task_id: id, task_status: toState(status) } };
}

/** The response for a task that does not exist, or that another caller has. DashScope's SDKs stop to wait. */
export function toUnknown(taskId: string, requestId: string): JsonObject {
  return { request_id: requestId, output: { task_id: taskId, task_status: "UNKNOWN" } };
}

/** A task as DashScope shows it: that of image generation has `choices`, that of image synthesis `results`. */
export function toDashScopeTask(task: JsonObject, requestId: string): JsonObject {
  const { id, status, created_at: createdAt, ended_at: endedAt, result, error } = task;
  const times = {
    submit_time: toChineseTime(createdAt),
    ...(endedAt !== undefined && { end_time: toChineseTime(endedAt) }),
  };
  const output = { task_id: id, task_status: toState(status), ...times };
  if (isJsonObject(error)) {
    const { code, message } = error;
    return { request_id: requestId, output: { ...output, code, message } };
  }
  if (!isJsonObject(result)) return { request_id: requestId, output };
  const items = Array.isArray(result["data"]) ? result["data"].filter(isJsonObject) : [];
  const links = items.flatMap((item) => {
    const image = readDelivered(item);
    return image !== undefined && "link" in image
      ? [{ url: image.link, revised: item["revised_prompt"] }]
      : [];
  });
  return {
    request_id: requestId,
    output: {
      ...output,
      finished: true,
      choices: links.map(({ url }) => ({
        finish_reason: "stop",
        message: { role: "assistant", content: [{ type: "image", image: url }] },
      })),
      results: links.map(({ url, revised }) => ({
        url,
        ...(typeof revised === "string" && revised !== "" && { actual_prompt: revised }),
      })),
      task_metrics: { TOTAL: items.length, SUCCEEDED: links.length, FAILED: items.length - links.length },
    },
    usage: { image_count: links.length },
  };
}

function toState(status: unknown): string {
  return STATES[String(status)] ?? "UNKNOWN";
}

/** `2026-11-29 17:30:00.000`, the time of China, as DashScope writes it. @param seconds since 1970 */
function toChineseTime(seconds: unknown): string {
  const shifted = new Date((Number(seconds) + 8 * 3600) * 1000);
  return shifted.toISOString().slice(0, 23).replace("T", " ");
}
