import type { Usage } from "../../types.js";
import { isJsonObject } from "../../util/json.js";
import type { Dialect } from "../dialect.js";
import { toSides } from "../fields/write-input.js";
import { readCount } from "../shared.js";
import { OPENAI_CODES } from "./failure.js";
import { readTokens, withCounts } from "./response.js";
import { createService, type Service } from "./service.js";
import { OPENAI_ONLY } from "./services.js";
import { toOpenaiForms } from "./upstream.js";

/** Tokens of Microsoft Entra ID are JWTs. Keys of a resource have no dots. */
const authorize = (apiKey: string): Readonly<Record<string, string>> =>
  /^eyJ[\w-]*\./.test(apiKey) ? { authorization: `Bearer ${apiKey}` } : { "api-key": apiKey };

/**
 * Azure OpenAI and Azure AI Foundry. The names of models are those of deployments. Each resource has its own address. The
 * old API is an address with the deployment and `?api-version=…`. Edits as JSON are not known to work (`@ai-sdk/azure`
 * 4.0.85, November 2026).
 */
export const AZURE: Partial<Dialect> = {
  defaultBaseUrl: undefined,
  defaultPath: "/openai/v1",
  authorize,
  needsImageBytes: ({ images }) => images.length > 0,
  toUpstream: toOpenaiForms,
};

/**
 * Microsoft's MAI-Image models on Azure AI Foundry. Sources: learn.microsoft.com (use-foundry-models-mai-image), LiteLLM's
 * `azure_ai` and docs.apiyi.com, November 2026. The names of models are those of deployments.
 */
export const MAI_SERVICE: Service = {
  defaultPath: "/mai/v1",
  authorize,
  delivers: ["b64_json"],
  size: toSides,
  count: "none",
  references: "form",
  // `background` is not among them: MAI-Image-2.7 takes it.
  drops: [
    ...OPENAI_ONLY.filter((field) => field !== "background"),
    "negative_prompt",
    "output_format",
    "quality",
    "seed",
    "user",
  ],
  response: { readUsage: readMaiUsage },
  codes: OPENAI_CODES,
};

export const MAI: Partial<Dialect> = { ...createService(MAI_SERVICE), reportsTokens: true };

/** The tokens have names of their own, or OpenAI's. Second-hand: LiteLLM reads both. */
function readMaiUsage(usage: unknown): Usage | undefined {
  const usual = readTokens(usage);
  if (!isJsonObject(usage)) return undefined;
  const output = readCount(usage["num_output_tokens"]) ?? readCount(usage["output_image_tokens"]);
  const text = readCount(usage["num_input_text_tokens"]);
  const image = readCount(usage["num_input_image_tokens"]);
  if (usual?.output_tokens !== undefined || !output) return usual;
  return withCounts({
    output_tokens: output,
    output_image_tokens: output,
    total_tokens: output + (text ?? 0) + (image ?? 0),
    input_text_tokens: text,
    input_image_tokens: image,
  });
}
