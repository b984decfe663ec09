import { createDialect, type DialectError } from "../dialects/create-dialect.js";
import { listOf, readInputImages } from "../dialects/input-images.js";
import { makeImages } from "../dialects/make-images.js";
import { jsonResponse } from "../http/responses.js";
import { isJsonObject, type JsonObject } from "../json.js";
import type { PixelSize } from "../pixel-size.js";
import type { Operation } from "../provider.js";
import type { ProviderCall } from "../provider-call.js";
import { randomSeed } from "../random.js";
import { type FieldProblem, type Fields, readFields } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { replicateErrors } from "./error-tables.js";
import { isActive, type Task, type TaskState } from "./task-store.js";

/** What a model of the table has besides the prompt. Other models take any of these fields. */
interface ReplicateModel {
  /** The field of its input images. */
  readonly images?: string;
  readonly maxImages?: number;
  /** True if the output is a list. */
  readonly isList?: true;
}

/** From the schemas of the models on replicate.com, November 2026. */
const models: Readonly<Record<string, ReplicateModel>> = {
  "black-forest-labs/flux-2-pro": { images: "input_images", maxImages: 8 },
  "black-forest-labs/flux-2-flex": { images: "input_images", maxImages: 10 },
  "black-forest-labs/flux-dev": { images: "image", maxImages: 1, isList: true },
  "black-forest-labs/flux-schnell": { isList: true },
  "bytedance/seedream-4.5": { images: "image_input", maxImages: 14, isList: true },
};
const imageFields = ["image", "images", "input_image", "input_images", "image_input", "mask"] as const;

const predictions: readonly Operation[] = [
  {
    kind: "submit",
    method: "POST",
    path: /^models\/(?<model>[^/]+\/[^/]+)\/predictions$/,
    respond: create,
  },
  { kind: "submit", method: "POST", path: /^predictions$/, respond: create },
  {
    kind: "cancel",
    method: "POST",
    path: /^predictions\/(?<id>[^/]+)\/cancel$/,
    body: "none",
    respond: cancel,
  },
  { kind: "poll", method: "GET", path: /^predictions\/(?<id>[^/]+)$/, body: "none", respond: getPrediction },
];

/** Replicate: a prediction for each request, of an official model by its name, or of any model by its version. */
export const replicate = createDialect({
  name: "replicate",
  basePath: "/replicate/v1/",
  errors: replicateErrors,
  codes: { wrongKey: "unauthenticated", invalid: "input_validation", server: "internal_error" },
  operations: predictions,
  describeError,
});

function describeError({ status, message, code, param }: DialectError): object {
  const title = code.replaceAll("_", " ");
  const fields = param === "" ? {} : { invalid_fields: [{ type: "value", field: `input.${param}` }] };
  return { title, detail: message, status, ...fields };
}

interface PredictionPlan {
  readonly model: string;
  readonly name: ReplicateModel | undefined;
  readonly input: JsonObject;
}

async function create(call: ProviderCall, services: Services): Promise<Response> {
  const { input, version } = call.body;
  const model = call.params.model ?? (typeof version === "string" ? version : undefined);
  if (model === undefined) throw refuse("version", "version is required");
  const name = models[model];
  if (call.params.model !== undefined && name === undefined && model.startsWith("nobody/"))
    throw new Refusal({ code: "not_found" });
  if (!isJsonObject(input)) throw refuse("prompt", "input is required");
  return submit({ model, name, input }, call, services);
}

async function submit(
  { model, name, input }: PredictionPlan,
  call: ProviderCall,
  services: Services,
): Promise<Response> {
  const fields = readFields(input, { refuse: refuseField });
  const prompt = fields.requiredText("prompt");
  const sources = (name === undefined ? imageFields : [name.images ?? "image"]).flatMap((field) =>
    listOf(input[field]),
  );
  if (sources.length > (name?.maxImages ?? Number.POSITIVE_INFINITY))
    throw refuse(name?.images ?? "image", `at most ${name?.maxImages} images`);
  const plan = {
    provider: "replicate",
    model,
    prompt,
    n: fields.integer("num_outputs", 1, 4) ?? 1,
    size: readSize(input, fields),
    format: fields.choice("output_format", ["webp", "jpg", "png", "jpeg"]) === "png" ? "png" : "jpeg",
    seed: fields.integer("seed", 0, 2 ** 32 - 1) ?? randomSeed(services.random),
    references: await readInputImages(sources, { call, services, code: "input_validation" }),
    deliver: "url",
    failureCode: "flagged",
  } as const;
  const end = prompt.includes("content_moderated") ? { end: "moderation" as const } : {};
  const task = services.tasks.submit({
    provider: "replicate",
    model,
    images: plan.n,
    fault: { ...call.fault, task: { ...end, ...call.fault.task } },
    async makeResult(poll) {
      const atOnce = { ...services, settings: { ...services.settings, millisecondsPerImage: 0 } };
      const images = await makeImages(plan, { call: poll, services: atOnce });
      const links = images.map((image) => ("url" in image ? image.url : image.b64_json));
      return { output: name?.isList === true || links.length > 1 ? links : links[0] };
    },
  });
  if (call.fault.task?.atOnce === true) {
    return jsonResponse({ ...describe(task, "succeeded", call), ...(await task.result(call)) }, 201);
  }
  return jsonResponse(describe(task, "queued", call), 201);
}

/** `aspect_ratio`, or its value `custom` with the sides. */
function readSize(input: JsonObject, fields: Fields): PixelSize {
  if (input.width !== undefined || input.height !== undefined) {
    return {
      width: fields.integer("width", 256, 4096) ?? 1024,
      height: fields.integer("height", 256, 4096) ?? 1024,
    };
  }
  const ratio = fields.text("aspect_ratio") ?? "1:1";
  const [width = 1, height = 1] = ratio === "match_input_image" ? [] : ratio.split(":").map(Number);
  if (!(width / height >= 9 / 21 && width / height <= 21 / 9))
    throw refuse("aspect_ratio", `aspect_ratio must not be ${ratio}`);
  const fit = Math.sqrt(width / height);
  return { width: Math.round((1024 * fit) / 16) * 16, height: Math.round(1024 / fit / 16) * 16 };
}

function findTask({ params }: ProviderCall, { tasks }: Services): Task {
  const task = tasks.find("replicate", params.id ?? "");
  if (task === undefined) throw new Refusal({ code: "not_found" });
  return task;
}

async function getPrediction(call: ProviderCall, services: Services): Promise<Response> {
  const task = findTask(call, services);
  const state = task.poll();
  const result = state === "succeeded" ? await task.result(call) : {};
  return jsonResponse({ ...describe(task, state, call), ...result });
}

async function cancel(call: ProviderCall, services: Services): Promise<Response> {
  const task = findTask(call, services);
  task.cancel(["queued", "running"]);
  return jsonResponse(describe(task, task.look(), call));
}

const states: Readonly<Record<TaskState, string>> = {
  queued: "starting",
  running: "processing",
  succeeded: "succeeded",
  failed: "failed",
  moderation: "failed",
  "request-moderation": "failed",
  canceled: "canceled",
  lost: "failed",
};

function describe(task: Task, state: TaskState, { origin }: ProviderCall): JsonObject {
  const base = `${task.fault.pollOrigin ?? origin}/replicate/v1/predictions/${task.id}`;
  return {
    id: task.id,
    model: task.model,
    status: states[state],
    output: null,
    error: describeEnd(task, state),
    created_at: new Date(task.submittedAt).toISOString(),
    metrics: isActive(state) ? {} : { predict_time: (task.endsAt - task.startsAt) / 1000 },
    urls: { get: base, cancel: `${base}/cancel` },
  };
}

function describeEnd({ fault }: Task, state: TaskState): string | null {
  if (state === "failed") return fault.task?.message ?? "Prediction failed.";
  const isRefused = state === "moderation" || state === "request-moderation";
  return isRefused ? (fault.task?.message ?? replicateErrors.flagged?.message ?? null) : null;
}

function refuse(param: string, message: string): Refusal {
  return new Refusal({ code: "input_validation", message, param });
}

function refuseField({ kind, name, expected }: FieldProblem): Refusal {
  return refuse(name, kind === "missing" ? `${name} is required` : `${name} must be ${expected}`);
}
