import { isLink } from "../../images/reference-image.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import type { Family } from "../family.js";
import { createRowFinder, listModelNames } from "../shared.js";
import { raiseSeed } from "../upstream-calls.js";
import { toGeminiFailure } from "./failure.js";
import { GEMINI_MODELS } from "./models.js";
import { normalizeGemini, toGemini } from "./request.js";
import { fromGemini } from "./response.js";

export { type VertexChannel, type VertexPlace, vertex } from "./vertex.js";

/**
 * Google's image models on the Gemini API, in their own format (`generateContent`).
 *
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { gemini } from "@calotype/core/families/gemini";
 *
 * const gateway = createGateway({
 *   families: [gemini],
 *   models: { "gemini-nano-banana-2.1": { family: "gemini" } },
 *   channels: [{ id: "google", family: "gemini", apiKey: process.env.GEMINI_API_KEY }],
 *   callers: [{ id: "web-shop", key: process.env.CALOTYPE_API_KEY }],
 * });
 * ```
 */
export const gemini: Family = {
  name: "gemini",
  defaultBaseUrl: "https://generativelanguage.googleapis.com/v1beta",
  operations: new Set(["generate", "edit"]),
  authorize: (apiKey) => ({ "x-goog-api-key": apiKey }),
  // Vertex AI has the same models at the address of a project, which `vertex` writes, and takes access tokens.
  dialects: {
    vertex: { defaultBaseUrl: undefined, authorize: (token) => ({ authorization: `Bearer ${token}` }) },
  },
  delivers: ["b64_json"],
  reportsTokens: true,
  takesImageBytes: true,
  modelNames: listModelNames(GEMINI_MODELS),
  fields: {
    n: "number",
    seed: "number",
    stream: "boolean",
    generationConfig: "object",
    systemInstruction: "object",
    safetySettings: "list",
  },
  findCapabilities: createRowFinder(GEMINI_MODELS, { toRowName: (name) => name, buildDate: /-preview$/ }),
  normalize: normalizeGemini,
  // Gemini opens no links.
  needsImageBytes: ({ images }) => images.some(isLink),
  toUpstream: toGemini,
  raiseSeed: raiseGeminiSeed,
  cutsBase64: true,
  base64Path: ["candidates", "*", "content", "parts", "*", "inlineData", "data"],
  fromUpstream: fromGemini,
  toFailure: ({ status, body }) => toGeminiFailure(status, body),
};

function raiseGeminiSeed(upstreamFields: JsonObject, amount: number): JsonObject {
  const { generationConfig } = upstreamFields;
  return isJsonObject(generationConfig)
    ? { ...upstreamFields, generationConfig: raiseSeed(generationConfig, amount) }
    : upstreamFields;
}
