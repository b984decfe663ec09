import type { JsonObject } from "../../util/json.js";
import type { Dialect } from "../dialect.js";
import { AZURE, MAI, MAI_SERVICE } from "./azure.js";
import { MINIMAX, MINIMAX_SERVICE } from "./minimax.js";
import { OPENROUTER, OPENROUTER_SERVICE } from "./openrouter.js";
import { RELAY, RELAY_SERVICE } from "./relay.js";
import { createService, type Service } from "./service.js";
import { IDEOGRAM, LOCALAI, RECRAFT, SILICONFLOW, TOGETHER, TOKENHUB, VLLM, ZHIPU } from "./services.js";
import { XAI, XAI_SERVICE } from "./xai.js";

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
  minimax: MINIMAX,
  recraft: createService(RECRAFT),
  mai: MAI,
  ideogram: createService(IDEOGRAM),
  tokenhub: createService(TOKENHUB),
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
  minimax: MINIMAX_SERVICE,
  recraft: RECRAFT,
  mai: MAI_SERVICE,
  ideogram: IDEOGRAM,
  tokenhub: TOKENHUB,
};

/** The fields that no channel of the model sends, whichever of them is chosen. */
export function listDropped(
  fields: JsonObject,
  dialects: readonly (string | undefined)[] = [undefined],
): readonly string[] {
  const drops = dialects.map((name = "openai") => SERVICES[name]?.drops ?? []);
  return Object.keys(fields).filter((field) => drops.every((names) => names.includes(field)));
}
