import type { ImageRequest } from "../../types.js";
import type { Family } from "../family.js";
import { createResponseReader } from "../read-response.js";
import { listModelNames } from "../shared.js";
import type { UpstreamCall } from "../upstream-call.js";
import { raiseSeed } from "../upstream-calls.js";
import { findSeedreamCapabilities, toSeedreamRowName } from "./capabilities.js";
import { SEEDREAM_MODELS } from "./models.js";
import { normalizeNative, normalizeSeedream } from "./request.js";
import { SEEDREAM_RESPONSE, toSeedreamFailure } from "./response.js";
import { readSeedreamStream, SEEDREAM_EVENTS } from "./stream.js";

/** Family A of the interface: Seedream models on Volcengine Ark or BytePlus ModelArk. */
export const seedream: Family = {
  name: "seedream",
  defaultBaseUrl: "https://ark.cn-beijing.volces.com/api/v3",
  operations: new Set(["generate", "edit", "native"]),
  delivers: ["url", "b64_json"],
  reportsTokens: true,
  takesImageBytes: true,
  fields: {
    n: "number",
    seed: "number",
    guidance_scale: "number",
    watermark: "boolean",
    stream: "boolean",
    layer_decomposition: "boolean",
    sequential_image_generation_options: "object",
    optimize_prompt_options: "object",
    tools: "list",
  },
  modelNames: listModelNames(SEEDREAM_MODELS),
  findCapabilities: findSeedreamCapabilities,
  toRowName: toSeedreamRowName,
  normalize: (fields, context) =>
    context.operation === "native" ? normalizeNative(fields, context) : normalizeSeedream(fields, context),
  toUpstream: toSeedream,
  raiseSeed,
  fromUpstream: createResponseReader(SEEDREAM_RESPONSE),
  responseShape: SEEDREAM_RESPONSE,
  readStream: readSeedreamStream,
  streamShape: SEEDREAM_EVENTS,
  toFailure: ({ status, body }) => toSeedreamFailure(status, body),
};

/** The call of Ark's image operation. */
function toSeedream(request: ImageRequest, upstreamModel: string): UpstreamCall {
  return {
    path: "/images/generations",
    body: { json: { model: upstreamModel, ...request.upstreamFields } },
  };
}
