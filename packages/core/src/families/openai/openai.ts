import type { Family } from "../family.js";
import { createResponseReader } from "../read-response.js";
import { createRowFinder, listModelNames } from "../shared.js";
import { raiseSeed } from "../upstream-calls.js";
import { DIALECTS } from "./dialects.js";
import { createFailureReader, OPENAI_CODES } from "./failure.js";
import { OPENAI_MODELS, OTHER_MODELS } from "./models.js";
import { normalizeOpenai } from "./request.js";
import { createShape, readTokens } from "./response.js";
import { createStreamReader, OPENAI_EVENTS } from "./stream.js";
import { needsFiles, toOpenai } from "./upstream.js";

const SHAPE = createShape(OPENAI_CODES);

/**
 * OpenAI's images API, and in `dialects` the services that speak it with differences. A server that is not in the list
 * works with the family's own dialect and the `baseUrl` of the channel.
 *
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { openai } from "@calotype/core/families/openai";
 *
 * const gateway = createGateway({
 *   families: [openai],
 *   models: { "gpt-image-2": { family: "openai" } },
 *   channels: [{ id: "openai", family: "openai", apiKey: process.env.OPENAI_API_KEY }],
 *   callers: [{ id: "web-shop", key: process.env.CALOTYPE_API_KEY }],
 * });
 * ```
 */
export const openai: Family = {
  name: "openai",
  defaultBaseUrl: "https://api.openai.com/v1",
  dialects: DIALECTS,
  operations: new Set(["generate", "edit"]),
  delivers: ["b64_json"],
  reportsTokens: true,
  readsQuality: true,
  takesImageBytes: true,
  fields: {
    n: "number",
    output_compression: "number",
    partial_images: "number",
    frame_count: "number",
    frame_duration_ms: "number",
    stream: "boolean",
    svg: "object",
    mask: "image",
    markup: "image",
    // Of other services.
    seed: "number",
    steps: "number",
    step: "number",
    num_inference_steps: "number",
    guidance_scale: "number",
    true_cfg_scale: "number",
    cfg: "number",
    watermark_enabled: "boolean",
    provider: "object",
    strength: "number",
    random_seed: "number",
    revise: "boolean",
    auto_aspect_ratio: "boolean",
    controls: "object",
  },
  modelNames: listModelNames([...OPENAI_MODELS, ...OTHER_MODELS]),
  findCapabilities: createRowFinder([...OPENAI_MODELS, ...OTHER_MODELS], {
    toRowName: (name) => name,
    buildDate: /-\d{4}-\d{2}-\d{2}$/,
  }),
  normalize: normalizeOpenai,
  raiseSeed,
  needsImageBytes: needsFiles,
  toUpstream: toOpenai,
  fromUpstream: createResponseReader(SHAPE),
  responseShape: SHAPE,
  readStream: createStreamReader(OPENAI_CODES, readTokens),
  streamShape: OPENAI_EVENTS,
  toFailure: createFailureReader(OPENAI_CODES),
};
