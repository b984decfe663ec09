import type { Family } from "../family.js";
import { SEEDREAM_ANSWER } from "./answer-shape.js";
import { toSeedreamFailure } from "./from-error.js";
import { fromSeedream } from "./from-upstream.js";
import { findSeedreamLimits } from "./limits.js";
import { normalizeSeedream } from "./normalize.js";
import { normalizeNative } from "./normalize-native.js";
import { readSeedreamStream } from "./stream-events.js";
import { toSeedream } from "./to-upstream.js";

/** Family A of the interface: Seedream models on Volcengine Ark or BytePlus ModelArk. */
export const seedream: Family = {
  name: "seedream",
  defaultBaseUrl: "https://ark.cn-beijing.volces.com/api/v3",
  operations: new Set(["generate", "edit", "native"]),
  reportsTokens: true,
  takesImageBytes: true,
  formFields: {
    n: "number",
    seed: "number",
    guidance_scale: "number",
    watermark: "boolean",
    stream: "boolean",
    layer_decomposition: "boolean",
    sequential_image_generation_options: "object",
    optimize_prompt_options: "object",
  },
  findLimits: findSeedreamLimits,
  normalize: (fields, context) =>
    context.operation === "native" ? normalizeNative(fields, context) : normalizeSeedream(fields, context),
  toUpstream: toSeedream,
  fromUpstream: fromSeedream,
  responseShape: SEEDREAM_ANSWER,
  readStream: readSeedreamStream,
  toFailure: toSeedreamFailure,
};
