import type { ImageRequest, ImageResult, ResultImage } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import type { FailedResponse, UpstreamFailure } from "../failure.js";
import type { Family, NormalizeContext } from "../family.js";
import { normalizeJobFields } from "../fields/normalize-fields.js";
import { addInputs, writeInput } from "../fields/write-input.js";
import type { JobState, ProviderJob, Submission } from "../job.js";
import { createRowFinder, failureKindOfStatus, listModelNames, readDetail, readText } from "../shared.js";
import type { UpstreamCall } from "../upstream-call.js";
import { raiseSeed } from "../upstream-calls.js";
import { FAL_INPUTS, FAL_MODELS, type FalModel, USUAL_INPUT } from "./models.js";

export type { ModelInput, Tiers } from "../fields/write-input.js";
export { toRatio, toSides } from "../fields/write-input.js";
export type { FalModel } from "./models.js";

/**
 * fal: the models of its gallery, through its queue. A request becomes a job: the gateway polls it, and continues it after a
 * restart.
 *
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { fal } from "@calotype/core/families/fal";
 *
 * const gateway = createGateway({
 *   families: [fal],
 *   models: { "flux-2-pro": { family: "fal", capabilities: "fal-ai/flux-2-pro" } },
 *   channels: [
 *     {
 *       id: "fal",
 *       family: "fal",
 *       apiKey: process.env.FAL_KEY,
 *       modelMapping: { "flux-2-pro": "fal-ai/flux-2-pro" },
 *     },
 *   ],
 *   callers: [{ id: "web-shop", key: process.env.CALOTYPE_API_KEY }],
 * });
 * ```
 */
export const fal: Family = createFal();

/**
 * The family {@link fal} with endpoints of your own, or with other facts about those that it knows.
 *
 * @param models how endpoints take what clients send, by their names at fal, such as `fal-ai/flux-2-pro`. What is left out is as the
 *   table says, or as for an endpoint that is not in the table
 */
export function createFal(models: Readonly<Record<string, FalModel>> = {}): Family {
  const inputs = addInputs(FAL_INPUTS, models, USUAL_INPUT);
  return {
    name: "fal",
    defaultBaseUrl: "https://queue.fal.run",
    // The URLs of a request, also if the channel has another base URL.
    hosts: ["queue.fal.run"],
    operations: new Set(["generate", "edit"]),
    authorize: (apiKey) => ({ authorization: `Key ${apiKey}` }),
    requestIdHeader: "x-fal-request-id",
    delivers: ["url"],
    reportsTokens: false,
    takesImageBytes: true,
    fields: {
      n: "number",
      seed: "number",
      num_inference_steps: "number",
      guidance_scale: "number",
      strength: "number",
      enable_safety_checker: "boolean",
      stream: "boolean",
      image_size: "object",
      mask: "image",
    },
    modelNames: listModelNames(FAL_MODELS),
    findCapabilities: createRowFinder(FAL_MODELS, { toRowName: (name) => name, buildDate: /(?!)/ }),
    normalize,
    raiseSeed,
    toUpstream: (request, model) => toUpstream(request, model, inputs.get(model) ?? USUAL_INPUT),
    jobs: {
      readSubmission,
      poll: (job) => ({ method: "GET", path: linkOf(job, "status") }),
      readPoll,
      fetchResult: (job) => ({ method: "GET", path: linkOf(job, "response") }),
      cancel: (job) => ({ method: "PUT", path: linkOf(job, "cancel") }),
      pollSeconds: 0.5,
    },
    fromUpstream,
    toFailure,
  };
}

/** `sync_mode` would put the images into the result. */
function normalize({ sync_mode: syncMode, ...fields }: JsonObject, context: NormalizeContext): ImageRequest {
  const request = normalizeJobFields(fields, context);
  return syncMode === undefined ? request : { ...request, ignored: [...request.ignored, "sync_mode"] };
}

function toUpstream(request: ImageRequest, model: string, input: FalModel): UpstreamCall {
  const endpoint = request.images.length > 0 ? (input.edit ?? model) : model;
  const path = endpoint.split("/").map(encodeURIComponent).join("/");
  return { path: `/${path}`, body: { json: writeInput(request, input) } };
}

const LINKS = ["status", "response", "cancel"] as const;

/** `{ "request_id", "status_url", "response_url", "cancel_url" }`. fal says not to build the URLs. */
function readSubmission(body: JsonObject): Submission {
  const links = LINKS.map((name) => [name, readText(body[`${name}_url`])] as const);
  const isComplete = links.every(([, link]) => link !== undefined);
  return {
    job: {
      id: isComplete ? (readText(body["request_id"]) ?? "") : "",
      data: Object.fromEntries(links),
    },
  };
}

const linkOf = ({ data }: ProviderJob, name: (typeof LINKS)[number]): string => readText(data?.[name]) ?? "";

/**
 * Errors of fal's own infrastructure (fal.ai/docs, request errors), and of a model that failed. The result is not fetched then:
 * its response would have a 5xx status, which also means that fal cannot be reached.
 */
const FAILED = /^(?:request|startup|runner|client|internal|downstream|generation)_/;

/** `{ "status", "error", "error_type" }`. A request that failed is `COMPLETED` too; why it was refused is in the result. */
function readPoll({ status, error, error_type: type }: JsonObject): JobState {
  if (status !== "COMPLETED") return { state: "pending" };
  const message = readText(error);
  const code = readText(type);
  const hasFailed = code === undefined ? message !== undefined : FAILED.test(code);
  return hasFailed ? { state: "failed", failure: { kind: "server", code, message } } : { state: "done" };
}

/** `{ "images": [{ "url", "width", "height" }] }`, or one image in `image`. */
function fromUpstream({ images, image }: JsonObject): ImageResult {
  const list: readonly unknown[] = Array.isArray(images) ? images : [image];
  const made = list.flatMap(readImage);
  return { images: made, errors: [], fields: {}, usage: { generated_images: made.length } };
}

function readImage(image: unknown): readonly ResultImage[] {
  if (!isJsonObject(image)) return [];
  const { width, height } = image;
  const url = readText(image["url"]);
  const hasSides = typeof width === "number" && typeof height === "number";
  return url === undefined ? [] : [{ url, ...(hasSides && { size: `${width}x${height}` }) }];
}

/**
 * `{ "detail": string | [{ "loc", "msg", "type" }], "error_type" }`. 403 is also an account without balance, which only the
 * message says.
 */
function toFailure({ status, headers, body = {} }: FailedResponse): UpstreamFailure {
  const detail = readDetail(body);
  const isQuota = status === 403 && /exhausted balance/i.test(detail.message ?? "");
  return {
    ...detail,
    kind: isQuota ? "quota" : failureKindOfStatus(status),
    code: detail.code ?? readText(body["error_type"]) ?? headers.get("x-fal-error-type") ?? undefined,
  };
}
