import { createDialect, type DialectError } from "../dialects/create-dialect.js";
import { listOf, readInputImages } from "../dialects/input-images.js";
import { makeImages } from "../dialects/make-images.js";
import { readKeyHeader } from "../http/read-key.js";
import { jsonResponse } from "../http/responses.js";
import type { PixelSize } from "../pixel-size.js";
import type { Provider } from "../provider.js";
import type { ProviderCall } from "../provider-call.js";
import { randomSeed } from "../random.js";
import { type FieldProblem, type Fields, readFields } from "../read-fields.js";
import type { LoadedReference } from "../references/decode-image.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { bflErrors } from "./error-tables.js";
import type { Task, TaskState } from "./task-store.js";

interface BflModel {
  /** In cents: the first megapixel of the image, and each further one of the image or of an input image. */
  readonly cents?: readonly [first: number, further: number];
  readonly maxImages: number;
  /** How it takes a size: by a ratio, or by a ratio and a tier. Default: by its sides. */
  readonly shape?: "ratio" | "tier";
  /** Whether it takes a `mask`. */
  readonly fills?: true;
}

/** From BFL's price page, November 2026. The price of `fill` is for the whole image. That of FLUX 3 is not known. */
const models: Readonly<Record<string, BflModel>> = {
  "flux-2-pro": { cents: [3, 1.5], maxImages: 8 },
  "flux-2-max": { cents: [7, 3], maxImages: 8 },
  "flux-2-flex": { cents: [5, 5], maxImages: 8 },
  "flux-2-klein-4b": { cents: [1.4, 0.1], maxImages: 4 },
  "flux-2-klein-9b": { cents: [1.5, 0.2], maxImages: 4 },
  "flux-kontext-pro": { cents: [4, 0], maxImages: 4, shape: "ratio" },
  "flux-kontext-max": { cents: [8, 0], maxImages: 4, shape: "ratio" },
  "flux-3-image": { maxImages: 10, shape: "tier" },
  "flux-pro-1.0-fill": { cents: [5, 0], maxImages: 0, fills: true },
};
const code = "validation_error";
const maxActiveTasks = 24;
const maxPixels = 4 * 1024 * 1024;
const step = 16;
/** The side of a square of each tier of FLUX 3. */
const tiers: Readonly<Record<string, number>> = {
  "1k": 1024,
  "1.5k": 1536,
  "2k": 2048,
  "4k": 4096,
};

/** Black Forest Labs: a task for each image, its cost at once, polls at a link, and result links of ten minutes. */
export const bfl: Provider = {
  ...createDialect({
    name: "bfl",
    basePath: "/bfl/v1/",
    errors: bflErrors,
    codes: { wrongKey: "not_authenticated", invalid: "bad_request", server: "internal_error" },
    operations: [
      { kind: "poll", method: "GET", path: /^get_result$/, body: "none", respond: getResult },
      { kind: "submit", method: "POST", path: /^(?<model>flux[a-z0-9.-]*)$/, respond: submit },
    ],
    describeError,
  }),
  readKey: (request) => readKeyHeader(request, "x-key"),
};

/** FastAPI's own checks give a list, everything else a string. */
function describeError({ status, message, param }: DialectError): object {
  return {
    detail:
      status === 422 ? [{ type: "value_error", loc: ["body", param], msg: message, input: null }] : message,
  };
}

/** `POST /v1/{model}`: `{ id, polling_url, cost, input_mp, output_mp }`. */
async function submit(call: ProviderCall, services: Services): Promise<Response> {
  const name = call.params.model ?? "";
  const model = models[name];
  if (model === undefined) throw new Refusal({ code: "unknown_model" });
  const fields = readFields(call.body, { refuse: refuseField });
  const prompt = fields.requiredText("prompt");
  const format = fields.choice("output_format", ["jpeg", "png"]) ?? "jpeg";
  fields.integer("safety_tolerance", 0, 6);
  fields.text("webhook_url");
  const seed = fields.integer("seed", 0, 2 ** 32 - 1) ?? randomSeed(services.random);
  const given = model.shape === undefined ? readSize(fields) : readShape(fields, model.shape);
  const references = await readImages(model, call, services);
  if (services.tasks.countActive("bfl") >= maxActiveTasks) throw new Refusal({ code: "too_many_tasks" });

  const size = chooseSize(given, model.shape === undefined ? references[0] : undefined);
  const plan = { provider: "bfl", model: name, prompt, n: 1, size, format, seed, references } as const;
  const failed = call.fault.failImages === undefined ? {} : { end: "moderation" as const };
  const task = services.tasks.submit({
    provider: "bfl",
    model: name,
    images: 1,
    fault: { ...call.fault, task: { ...moderationOf(prompt), ...failed, ...call.fault.task } },
    async makeResult(poll) {
      const done = { ...poll, fault: withoutFailures(poll) };
      const [image] = await makeImages(
        { ...plan, deliver: "url", failureCode: code },
        { call: done, services: atOnce(services) },
      );
      return { ...(image !== undefined && "url" in image ? { sample: image.url } : {}), prompt, seed };
    },
  });
  const [inputMp, outputMp] = [
    references.reduce((sum, image) => sum + megapixelsOf(image), 0),
    megapixelsOf(size),
  ];
  const origin = call.fault.pollOrigin ?? call.origin;
  return jsonResponse({
    id: task.id,
    polling_url: `${origin}/bfl/v1/get_result?id=${task.id}`,
    ...(model.cents !== undefined && {
      cost: model.cents[0] + model.cents[1] * (outputMp - 1 + inputMp),
    }),
    input_mp: inputMp,
    output_mp: outputMp,
  });
}

/** A prompt that contains one of these words ends like this, so that tests need no offensive prompts. */
function moderationOf(prompt: string): { end?: "moderation" | "request-moderation" } {
  if (prompt.includes("request_moderated")) return { end: "request-moderation" };
  return prompt.includes("content_moderated") ? { end: "moderation" } : {};
}

/** The task has already waited, and its failure is its state. */
function withoutFailures({ fault }: ProviderCall) {
  const { failImages: _failImages, ...rest } = fault;
  return rest;
}

function atOnce(services: Services): Services {
  return { ...services, settings: { ...services.settings, millisecondsPerImage: 0 } };
}

/** A side that is absent is that of the first input image, or 1024. */
function chooseSize({ width, height }: Partial<PixelSize>, first: PixelSize | undefined): PixelSize {
  const size = { width: width ?? first?.width ?? 1024, height: height ?? first?.height ?? 1024 };
  if (size.width * size.height <= maxPixels || first === undefined) return size;
  const scale = Math.sqrt(maxPixels / (size.width * size.height));
  const fit = (side: number) => Math.max(step, Math.floor((side * scale) / step) * step);
  return { width: fit(size.width), height: fit(size.height) };
}

/** The sides that the request has. */
function readSize(fields: Fields): Partial<PixelSize> {
  const sides = (["width", "height"] as const).map((name) => {
    const side = fields.integer(name, 64, 4096);
    if (side !== undefined && side % step !== 0) throw invalid(name, `Input should be a multiple of ${step}`);
    return side;
  });
  const [width, height] = sides;
  if ((width ?? 1024) * (height ?? 1024) > maxPixels)
    throw invalid("width", "The image must not exceed 4 megapixels");
  return { ...(width === undefined ? {} : { width }), ...(height === undefined ? {} : { height }) };
}

/** The sides of a ratio and a tier, to multiples of 16. */
function readShape(fields: Fields, shape: "ratio" | "tier"): PixelSize {
  const side = tiers[(shape === "tier" && fields.choice("resolution", Object.keys(tiers))) || "1k"] ?? 1024;
  const ratio = fields.text("aspect_ratio") ?? "1:1";
  const [width = 1, height = 1] = ratio === "auto" ? [] : ratio.split(":").map(Number);
  if (!(width / height >= 9 / 21 - 0.01 && width / height <= 21 / 9 + 0.01))
    throw invalid("aspect_ratio", "Aspect ratio must be between 9:21 and 21:9");
  return { width: fit(side * Math.sqrt(width / height)), height: fit(side * Math.sqrt(height / width)) };
}

const fit = (length: number) => Math.max(step, Math.round(length / step) * step);

/** `input_image`, `input_image_2` …: links, or base64 without a prefix. Fill models take `image` and `mask`, FLUX 3 `images`. */
async function readImages(
  model: BflModel,
  call: ProviderCall,
  services: Services,
): Promise<LoadedReference[]> {
  const names = Object.keys(call.body).filter((name) => /^input_image(?:_\d+)?$/.test(name));
  const sources =
    model.fills === true
      ? [call.body.image, call.body.mask]
      : model.shape === "tier"
        ? [call.body.images]
        : names.toSorted().map((name) => call.body[name]);
  const given = sources.flatMap(listOf);
  if (model.fills !== true && given.length > model.maxImages) {
    throw invalid("input_image", `The model takes at most ${model.maxImages} input images`);
  }
  const prefixed = given.find((source) => typeof source === "string" && source.startsWith("data:"));
  if (prefixed !== undefined)
    throw invalid("input_image", "Expected a URL or base64 without a data URL prefix");
  if (model.fills === true && call.body.image === undefined) throw invalid("image", "Field required");
  return readInputImages(given, { call, services, code, takesBareBase64: true });
}

function megapixelsOf({ width, height }: PixelSize): number {
  return Math.ceil((width * height) / (1024 * 1024));
}

const states: Readonly<Record<TaskState, string>> = {
  queued: "Pending",
  running: "Pending",
  succeeded: "Ready",
  failed: "Error",
  moderation: "Content Moderated",
  "request-moderation": "Request Moderated",
  canceled: "Failed",
  lost: "Task not found",
};

/** `GET /v1/get_result?id=…`. Every state is a 200. */
async function getResult(call: ProviderCall, services: Services): Promise<Response> {
  const id = new URL(call.request.url).searchParams.get("id") ?? "";
  const task = services.tasks.find("bfl", id);
  const state = task?.poll() ?? "lost";
  const shared = { id, status: statusOf(task, state), progress: null, preview: null };
  if (task === undefined || state !== "succeeded") {
    return jsonResponse({ ...shared, result: null, details: describeEnd(task, state) });
  }
  const times = { start_time: task.startsAt / 1000, end_time: task.endsAt / 1000 };
  return jsonResponse({ ...shared, result: { ...(await task.result(call)), ...times }, details: null });
}

function statusOf(task: Task | undefined, state: TaskState): string {
  return (state === "failed" ? task?.fault.task?.code : undefined) ?? states[state];
}

function describeEnd(task: Task | undefined, state: TaskState): object | null {
  if (state === "moderation" || state === "request-moderation") return { "Moderation Reasons": ["Violence"] };
  const message = task?.fault.task?.message;
  return state === "failed" && message !== undefined ? { error: message } : null;
}

function invalid(param: string, message: string): Refusal {
  return new Refusal({ code, message, param });
}

function refuseField({ kind, name, expected }: FieldProblem): Refusal {
  return invalid(name, kind === "missing" ? "Field required" : `Input should be ${expected}`);
}
