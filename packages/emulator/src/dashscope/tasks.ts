import { jsonResponse } from "../http/responses.js";
import { isJsonObject } from "../json.js";
import type { ProviderCall } from "../provider-call.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import type { Task, TaskState } from "../tasks/task-store.js";
import { dashscopeErrors } from "./error-codes.js";
import { makeResponse } from "./generation.js";
import { readDashscopeRequest } from "./request.js";

const states: Readonly<Record<TaskState, string>> = {
  queued: "PENDING",
  running: "RUNNING",
  succeeded: "SUCCEEDED",
  failed: "FAILED",
  moderation: "FAILED",
  "request-moderation": "FAILED",
  canceled: "CANCELED",
  lost: "UNKNOWN",
};

/** `POST services/aigc/image-generation/generation` with `X-DashScope-Async: enable`. */
export async function submitTask(call: ProviderCall, services: Services): Promise<Response> {
  const request = await readDashscopeRequest(call, services, "task");
  const failsAll = Array.from({ length: request.n }, (_, index) => index).every((index) =>
    call.fault.failImages?.some((failed) => failed.index === index),
  );
  const task = services.tasks.submit({
    provider: "dashscope",
    model: request.modelName,
    images: request.n,
    fault: { ...call.fault, task: { ...(failsAll ? { end: "moderation" } : {}), ...call.fault.task } },
    makeResult: async (poll) => makeResponse(request, poll, services),
  });
  return jsonResponse({ output: { task_id: task.id, task_status: "PENDING" }, request_id: call.requestId });
}

/** `GET tasks/{id}`. Every state is a 200, also that of an unknown task. */
export async function getTask(call: ProviderCall, services: Services): Promise<Response> {
  const { id = "" } = call.params;
  const task = services.tasks.find("dashscope", id);
  const state = task?.poll() ?? "lost";
  const shared = { task_id: id, task_status: states[state] };
  if (task === undefined) return jsonResponse({ request_id: call.requestId, output: shared });
  const times = {
    submit_time: format(task.submittedAt),
    ...(state === "queued" ? {} : { scheduled_time: format(task.startsAt) }),
    ...(state === "queued" || state === "running" ? {} : { end_time: format(task.endsAt) }),
  };
  if (state === "succeeded") {
    const { output, ...rest } = await task.result(call);
    const result = isJsonObject(output) ? output : {};
    return jsonResponse({ ...rest, request_id: call.requestId, output: { ...shared, ...times, ...result } });
  }
  const output = { ...shared, ...times, ...describeFailure(task, state) };
  return jsonResponse({ request_id: call.requestId, output });
}

function describeFailure({ fault }: Task, state: TaskState): object {
  if (states[state] !== "FAILED") return {};
  const code = fault.task?.code ?? (state === "failed" ? "InternalError" : "DataInspectionFailed");
  const facts: Readonly<Record<string, { readonly message: string }>> = dashscopeErrors;
  return { code, message: fault.task?.message ?? facts[code]?.message ?? code };
}

/** `POST tasks/{id}/cancel`. Only a task that waits can be canceled. */
export async function cancelTask(call: ProviderCall, services: Services): Promise<Response> {
  const task = services.tasks.find("dashscope", call.params.id ?? "");
  if (task?.cancel(["queued"]) === true) return jsonResponse({ request_id: call.requestId });
  throw new Refusal({
    code: "UnsupportedOperation",
    message: "Failed to cancel the task, please confirm if the task is in PENDING status.",
  });
}

/** `2026-11-21 17:30:00.000`, the time of China. */
function format(milliseconds: number): string {
  const hoursOfChina = 8;
  const shifted = new Date(milliseconds + hoursOfChina * 3_600_000);
  return shifted.toISOString().slice(0, 23).replace("T", " ");
}
