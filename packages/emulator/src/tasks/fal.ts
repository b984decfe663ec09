import { createDialect, type DialectError } from "../dialects/create-dialect.js";
import { listOf, readInputImages } from "../dialects/input-images.js";
import { type ImagePlan, makeImages } from "../dialects/make-images.js";
import { mediaTypeOf } from "../drawing/recipe.js";
import { readBearerKey } from "../http/read-key.js";
import { eventStream, jsonResponse } from "../http/responses.js";
import { isJsonObject, type JsonObject } from "../json.js";
import type { PixelSize } from "../pixel-size.js";
import type { Operation, Provider } from "../provider.js";
import type { ProviderCall } from "../provider-call.js";
import { randomSeed } from "../random.js";
import { type FieldProblem, type Fields, readFields } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { sleep } from "../sleep.js";
import { falErrors } from "./error-tables.js";
import { isActive, type Task, type TaskState } from "./task-store.js";

const presets: Readonly<Record<string, PixelSize>> = {
  square_hd: { width: 1024, height: 1024 },
  square: { width: 512, height: 512 },
  portrait_4_3: { width: 768, height: 1024 },
  portrait_16_9: { width: 576, height: 1024 },
  landscape_4_3: { width: 1024, height: 768 },
  landscape_16_9: { width: 1024, height: 576 },
};
const [minSide, maxSide] = [64, 4096];

/** The app, without the rest of the endpoint's path, and the id of the request. */
const requestPath = String.raw`^(?<app>[^/]+\/[^/]+)\/requests\/(?<id>[^/]+)`;

const queue: readonly Operation[] = [
  {
    kind: "poll",
    method: "GET",
    path: new RegExp(String.raw`${requestPath}\/status$`),
    body: "none",
    respond: getStatus,
  },
  {
    kind: "poll",
    method: "GET",
    path: new RegExp(String.raw`${requestPath}\/status\/stream$`),
    body: "none",
    respond: streamStatus,
  },
  { kind: "result", method: "GET", path: new RegExp(`${requestPath}$`), body: "none", respond: getResult },
  {
    kind: "cancel",
    method: "PUT",
    path: new RegExp(String.raw`${requestPath}\/cancel$`),
    body: "none",
    respond: cancel,
  },
  { kind: "submit", method: "POST", path: /^(?<model>[^/]+\/[^/]+(?:\/.+)?)$/, respond: submitOrRun },
];

const described = createDialect({
  name: "fal",
  basePath: "/fal/",
  errors: falErrors,
  codes: { wrongKey: "unauthenticated_user", invalid: "invalid_request", server: "internal_server_error" },
  operations: queue,
  describeError,
  requestIdHeader: "x-fal-request-id",
});

/**
 * fal: any endpoint (`owner/alias`, with or without more), at its queue (`/fal/`) and directly (`/fal-run/`). An endpoint
 * whose path ends in `/edit` needs an image.
 */
export const fal: Provider = {
  ...described,
  basePaths: ["/fal/", "/fal-run/"],
  readKey: (request) => readBearerKey(request, "Key"),
  renderRefusal(refusal, requestId) {
    const response = described.renderRefusal(refusal, requestId);
    response.headers.set("x-fal-error-type", refusal.code);
    response.headers.set("x-fal-retryable", String(response.status >= 500 || response.status === 429));
    if (response.status === 504) response.headers.set("x-fal-request-timeout-type", "user");
    return response;
  },
};

/** The checks of the input give a list, everything else a string. */
function describeError({ status, message, code, param }: DialectError): object {
  return {
    detail: status === 422 ? [{ loc: ["body", param || "prompt"], msg: message, type: code }] : message,
  };
}

async function submitOrRun(call: ProviderCall, services: Services): Promise<Response> {
  const isDirect = new URL(call.request.url).pathname.startsWith("/fal-run/");
  const plan = await readPlan(call, services);
  if (!isDirect) return submit(plan, call, services);
  const end = call.fault.task?.end ?? endOf(plan);
  if (end !== undefined) throw refusalFor(end, call.fault.task);
  return jsonResponse(await makeResult(plan, call, services));
}

/** `{ request_id, status, queue_position, response_url, status_url, cancel_url }`. */
function submit(plan: FalPlan, call: ProviderCall, services: Services): Response {
  const end = endOf(plan);
  const task = services.tasks.submit({
    provider: "fal",
    model: plan.model,
    images: plan.n,
    fault: { ...call.fault, task: { ...(end === undefined ? {} : { end }), ...call.fault.task } },
    makeResult: (poll) =>
      makeResult(plan, poll, { ...services, settings: { ...services.settings, millisecondsPerImage: 0 } }),
  });
  return jsonResponse({ ...linksOf(task, call), request_id: task.id, status: "IN_QUEUE", queue_position: 0 });
}

/** The base path of the links is the app: the owner and the alias, without the rest of the endpoint. */
function linksOf({ id, model, fault }: Task, { origin }: ProviderCall) {
  const app = model.split("/").slice(0, 2).join("/");
  const base = `${fault.pollOrigin ?? origin}/fal/${app}/requests/${id}`;
  return { response_url: base, status_url: `${base}/status`, cancel_url: `${base}/cancel` };
}

function findTask({ params }: ProviderCall, { tasks }: Services): Task {
  const task = tasks.find("fal", params.id ?? "");
  const isOfApp = task !== undefined && `${task.model}/`.startsWith(`${params.app}/`);
  if (!isOfApp)
    throw new Refusal({ code: "application_not_found", message: `Request ${params.id} not found` });
  return task;
}

async function getStatus(call: ProviderCall, services: Services): Promise<Response> {
  const task = findTask(call, services);
  const state = task.poll();
  return jsonResponse(describeStatus(task, state, call), isActive(state) ? 202 : 200);
}

function describeStatus(task: Task, state: TaskState, call: ProviderCall): object {
  const shared = { request_id: task.id, ...linksOf(task, call) };
  if (state === "queued") return { status: "IN_QUEUE", queue_position: 0, ...shared };
  if (state === "running") return { status: "IN_PROGRESS", logs: [], ...shared };
  const seconds = (task.endsAt - task.startsAt) / 1000;
  if (state === "succeeded")
    return { status: "COMPLETED", logs: [], metrics: { inference_time: seconds }, ...shared };
  const { code, message } = refusalFor(state, task.fault.task);
  return {
    status: "COMPLETED",
    logs: [],
    error: message || falErrors[code]?.message,
    error_type: code,
    ...shared,
  };
}

const pauseMs = 100;

/** The states as server-sent events, until the task has ended. */
async function streamStatus(call: ProviderCall, services: Services): Promise<Response> {
  const task = findTask(call, services);
  const events = async function* () {
    for (let state = task.poll(); ; state = task.poll()) {
      yield `data: ${JSON.stringify(describeStatus(task, state, call))}\n\n`;
      if (!isActive(state)) return;
      await sleep(pauseMs, call.request.signal);
    }
  };
  return eventStream(events(), call.fault.stream);
}

/** Errors of the task appear here. */
async function getResult(call: ProviderCall, services: Services): Promise<Response> {
  const task = findTask(call, services);
  const state = task.look();
  if (isActive(state))
    throw new Refusal({ code: "invalid_request", message: "Request is still in progress" });
  if (state !== "succeeded") throw refusalFor(state, task.fault.task);
  return jsonResponse(await task.result(call));
}

async function cancel(call: ProviderCall, services: Services): Promise<Response> {
  const { id = "" } = call.params;
  const task = services.tasks.find("fal", id);
  if (task === undefined) return jsonResponse({ status: "NOT_FOUND" }, 404);
  const isCanceled = task.cancel(["queued", "running"]);
  return isCanceled
    ? jsonResponse({ status: "CANCELLATION_REQUESTED" }, 202)
    : jsonResponse({ status: "ALREADY_COMPLETED" }, 400);
}

/** A task that ended badly, as the request for its result sees it. */
function refusalFor(state: TaskState, { code, message }: { code?: string; message?: string } = {}): Refusal {
  if (state === "canceled") return new Refusal({ code: "invalid_request", message: "Request was cancelled" });
  const usual = state === "failed" ? "internal_server_error" : "content_policy_violation";
  return new Refusal({ code: code ?? usual, message });
}

interface FalPlan extends Omit<ImagePlan, "deliver"> {
  readonly seed: number;
  /** Whether the result has data URLs instead of links. */
  readonly isSync: boolean;
}

/** A prompt that contains `content_moderated` is refused, so that tests need no offensive prompts. */
function endOf({ prompt }: FalPlan): "moderation" | undefined {
  return prompt.includes("content_moderated") ? "moderation" : undefined;
}

async function readPlan(call: ProviderCall, services: Services): Promise<FalPlan> {
  const { model = "" } = call.params;
  const fields = readFields(call.body, { refuse: refuseField });
  const { image_url: single, image_urls: several, mask_url: mask } = call.body;
  const sources = [single, several, mask].flatMap(listOf);
  if (model.endsWith("/edit") && sources.length === 0)
    throw new Refusal({ code: "missing", param: "image_urls" });
  fields.boolean("enable_safety_checker");
  return {
    provider: "fal",
    model,
    prompt: fields.requiredText("prompt"),
    n: fields.integer("num_images", 1, 4) ?? 1,
    size: readSize(call.body.image_size, fields),
    format: fields.choice("output_format", ["jpeg", "png", "webp"]) ?? "jpeg",
    seed: fields.integer("seed", 0, 2 ** 32 - 1) ?? randomSeed(services.random),
    references: await readInputImages(sources, { call, services, code: "image_load_error" }),
    failureCode: "content_policy_violation",
    isSync: fields.boolean("sync_mode") ?? false,
  };
}

function readSize(value: unknown, fields: Fields): PixelSize {
  if (isJsonObject(value)) {
    const sides = readFields(value, { refuse: refuseField });
    const [width, height] = [
      sides.integer("width", minSide, maxSide),
      sides.integer("height", minSide, maxSide),
    ];
    return { width: width ?? 1024, height: height ?? 1024 };
  }
  const preset = fields.choice("image_size", Object.keys(presets)) ?? "landscape_4_3";
  return presets[preset] ?? { width: 1024, height: 768 };
}

async function makeResult(plan: FalPlan, call: ProviderCall, services: Services): Promise<JsonObject> {
  const deliver = plan.isSync ? "b64_json" : "url";
  const images = await makeImages({ ...plan, deliver }, { call, services });
  const type = mediaTypeOf(plan.format);
  return {
    images: images.map((image) => ({
      url: "url" in image ? image.url : `data:${type};base64,${image.b64_json}`,
      ...plan.size,
      content_type: type,
    })),
    timings: { inference: (services.settings.millisecondsPerImage * plan.n) / 1000 },
    seed: plan.seed,
    has_nsfw_concepts: images.map(() => false),
    prompt: plan.prompt,
  };
}

function refuseField({ kind, name, expected }: FieldProblem): Refusal {
  if (kind === "missing") return new Refusal({ code: "missing", param: name });
  return new Refusal({ code: "value_error", message: `Input should be ${expected}`, param: name });
}
