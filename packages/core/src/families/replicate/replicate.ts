import type { ImageRequest, ImageResult } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import type { FailedResponse, UpstreamFailure } from "../failure.js";
import type { Family } from "../family.js";
import { normalizeJobFields } from "../fields/normalize-fields.js";
import { addInputs, type ModelInput, writeInput } from "../fields/write-input.js";
import type { JobState, Submission } from "../job.js";
import { createRowFinder, failureKindOfStatus, listModelNames, readText } from "../shared.js";
import type { UpstreamCall } from "../upstream-call.js";
import { raiseSeed } from "../upstream-calls.js";
import { REPLICATE_INPUTS, REPLICATE_MODELS, USUAL_INPUT } from "./models.js";

export type { ModelInput, Tiers } from "../fields/write-input.js";
export { toRatio, toSides } from "../fields/write-input.js";

/** The version of a model, as in `owner/name:version`. */
const VERSION = /:([0-9a-f]+)$/;

/**
 * Replicate: its official models by their names, and any other model by its version. A request becomes a prediction: the
 * gateway polls it, and continues it after a restart.
 *
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { replicate } from "@calotype/core/families/replicate";
 *
 * const gateway = createGateway({
 *   families: [replicate],
 *   models: { "flux-2-pro": { family: "replicate", capabilities: "black-forest-labs/flux-2-pro" } },
 *   channels: [
 *     {
 *       id: "replicate",
 *       family: "replicate",
 *       apiKey: process.env.REPLICATE_API_TOKEN,
 *       modelMapping: { "flux-2-pro": "black-forest-labs/flux-2-pro" },
 *     },
 *   ],
 *   callers: [{ id: "web-shop", key: process.env.CALOTYPE_API_KEY }],
 * });
 * ```
 */
export const replicate: Family = createReplicate();

/**
 * The family {@link replicate} with models of your own, or with other facts about those that it knows.
 *
 * @param models how models take what clients send, by their names without a version, such as `black-forest-labs/flux-2-pro`. What is
 *   left out is as the table says, or as for a model that is not in the table
 */
export function createReplicate(models: Readonly<Record<string, ModelInput>> = {}): Family {
  const inputs = addInputs(REPLICATE_INPUTS, models, USUAL_INPUT);
  return {
    name: "replicate",
    defaultBaseUrl: "https://api.replicate.com/v1",
    operations: new Set(["generate", "edit"]),
    delivers: ["url"],
    reportsTokens: false,
    takesImageBytes: true,
    fields: {
      n: "number",
      seed: "number",
      num_inference_steps: "number",
      guidance: "number",
      guidance_scale: "number",
      output_quality: "number",
      prompt_strength: "number",
      safety_tolerance: "number",
      stream: "boolean",
      disable_safety_checker: "boolean",
      prompt_upsampling: "boolean",
      mask: "image",
    },
    modelNames: listModelNames(REPLICATE_MODELS),
    findCapabilities: createRowFinder(REPLICATE_MODELS, { toRowName: (name) => name, buildDate: VERSION }),
    normalize: normalizeJobFields,
    raiseSeed,
    toUpstream: (request, model) =>
      toUpstream(request, model, inputs.get(model.replace(VERSION, "")) ?? USUAL_INPUT),
    jobs: {
      readSubmission,
      poll: ({ id }) => ({ method: "GET", path: pathOf(id) }),
      readPoll,
      cancel: ({ id }) => ({ path: `${pathOf(id)}/cancel` }),
      pollSeconds: 0.5,
    },
    fromUpstream,
    toFailure,
  };
}

function toUpstream(request: ImageRequest, model: string, modelInput: ModelInput): UpstreamCall {
  const input = writeInput(request, modelInput);
  const [, version] = VERSION.exec(model) ?? [];
  if (version !== undefined) return { path: "/predictions", body: { json: { version, input } } };
  const name = model.split("/").map(encodeURIComponent).join("/");
  return { path: `/models/${name}/predictions`, body: { json: { input } } };
}

/** `{ "id", "status", "output" }`. Without `Prefer: wait` it comes at once, but a model may be as fast. */
function readSubmission(body: JsonObject): Submission {
  if (body["status"] === "succeeded" && fromUpstream(body).images.length > 0) return { done: true };
  return { job: { id: readText(body["id"]) ?? "" } };
}

const pathOf = (id: string): string => `/predictions/${encodeURIComponent(id)}`;

/** The states of a prediction that made nothing (replicate.com/docs, lifecycle). `starting` and `processing` go on. */
const ENDS: ReadonlySet<unknown> = new Set(["failed", "canceled", "aborted"]);

/** The words with which models refuse content. There are no codes for it, but some messages end in one. */
const REFUSED = /nsfw|flagged as sensitive|safety|\(E005\)/i;

/** `{ "status", "output", "error" }`, with status 200. */
function readPoll({ status, error }: JsonObject): JobState {
  if (status === "succeeded") return { state: "done" };
  if (!ENDS.has(status)) return { state: "pending" };
  const message = readText(error) ?? `The prediction was ${String(status)}.`;
  const [, code] = /\((E\d{3,5})\)/.exec(message) ?? [];
  const kind = REFUSED.test(message) ? "content" : "server";
  return { state: "failed", failure: { kind, code: code ?? String(status), message } };
}

/** The `output` is a link or a list of links, which last an hour. */
function fromUpstream({ output }: JsonObject): ImageResult {
  const images = [output].flat().flatMap((link) => {
    const url = readText(link);
    return url === undefined ? [] : [{ url }];
  });
  return { images, errors: [], fields: {}, usage: { generated_images: images.length } };
}

/** `{ "title", "detail", "status", "invalid_fields": [{ "field" }] }`. */
function toFailure({ status, body = {} }: FailedResponse): UpstreamFailure {
  const { detail, error, invalid_fields: fields } = body;
  const [field]: readonly unknown[] = Array.isArray(fields) ? fields : [];
  return {
    kind: failureKindOfStatus(status),
    message: readText(detail) ?? readText(error),
    param: isJsonObject(field) ? readText(field["field"])?.replace(/^input\./, "") : undefined,
  };
}
