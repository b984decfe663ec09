import type { JsonObject } from "../../util/json.js";
import type { Dialect } from "../dialect.js";
import { OPENROUTER, OPENROUTER_SERVICE } from "./openrouter.js";
import { RELAY, RELAY_SERVICE } from "./relay.js";
import { createService, type Service } from "./service.js";
import { LOCALAI, SILICONFLOW, TOGETHER, VLLM, ZHIPU } from "./services.js";
import { toOpenaiForms } from "./upstream.js";
import { XAI, XAI_SERVICE } from "./xai.js";

/**
 * Azure OpenAI and Azure AI Foundry. The names of models are those of deployments. Each resource has its own address. The
 * old API is an address with the deployment and `?api-version=…`. Edits as JSON are not known to work (`@ai-sdk/azure`
 * 4.0.85, November 2026).
 */
const AZURE: Partial<Dialect> = {
  defaultBaseUrl: undefined,
  defaultPath: "/openai/v1",
  // Tokens of Microsoft Entra ID are JWTs. Keys have no dots.
  authorize: (apiKey) =>
    /^eyJ[\w-]*\./.test(apiKey) ? { authorization: `Bearer ${apiKey}` } : { "api-key": apiKey },
  needsImageBytes: ({ images }) => images.length > 0,
  toUpstream: toOpenaiForms,
};

/** The services that speak OpenAI's API, by the names in `channels[].dialect`. */
export const DIALECTS: Readonly<Record<string, Partial<Dialect>>> = {
  openai: {},
  azure: AZURE,
  xai: XAI,
  openrouter: OPENROUTER,
  together: createService(TOGETHER),
  siliconflow: createService(SILICONFLOW),
  zhipu: createService(ZHIPU),
  vllm: createService(VLLM),
  localai: createService(LOCALAI),
  relay: RELAY,
};

const SERVICES: Readonly<Record<string, Service>> = {
  xai: XAI_SERVICE,
  openrouter: OPENROUTER_SERVICE,
  together: TOGETHER,
  siliconflow: SILICONFLOW,
  zhipu: ZHIPU,
  vllm: VLLM,
  localai: LOCALAI,
  relay: RELAY_SERVICE,
};

/** The fields that no channel of the model sends, whichever of them is chosen. */
export function listDropped(
  fields: JsonObject,
  dialects: readonly (string | undefined)[] = [undefined],
): readonly string[] {
  const drops = dialects.map((name = "openai") => SERVICES[name]?.drops ?? []);
  return Object.keys(fields).filter((field) => drops.every((names) => names.includes(field)));
}
