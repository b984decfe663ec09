import { arkErrors } from "./ark/error-codes.js";
import { dashscopeErrors } from "./dashscope/error-codes.js";
import {
  ideogramErrors,
  localaiErrors,
  maiErrors,
  minimaxErrors,
  openrouterErrors,
  recraftErrors,
  siliconflowErrors,
  togetherErrors,
  tokenhubErrors,
  vllmErrors,
  xaiErrors,
  zhipuErrors,
} from "./dialects/error-tables.js";
import { geminiErrors } from "./gemini/error-codes.js";
import { azureErrors, openaiErrors } from "./openai/error-codes.js";
import { type ProviderName, providerNames } from "./provider-name.js";
import { bflErrors, falErrors, relayErrors, replicateErrors } from "./tasks/error-tables.js";

/** The table of codes of each provider. */
const tables: Readonly<Partial<Record<ProviderName, object>>> = {
  ark: arkErrors,
  dashscope: dashscopeErrors,
  openai: openaiErrors,
  azure: azureErrors,
  xai: xaiErrors,
  openrouter: openrouterErrors,
  together: togetherErrors,
  siliconflow: siliconflowErrors,
  zhipu: zhipuErrors,
  vllm: vllmErrors,
  localai: localaiErrors,
  gemini: geminiErrors,
  bfl: bflErrors,
  fal: falErrors,
  replicate: replicateErrors,
  relay: relayErrors,
  minimax: minimaxErrors,
  recraft: recraftErrors,
  mai: maiErrors,
  ideogram: ideogramErrors,
  tokenhub: tokenhubErrors,
  vertex: geminiErrors,
};

/** Whether the provider documents this code. */
export function isErrorCodeOf(provider: ProviderName, code: string): boolean {
  return Object.hasOwn(tables[provider] ?? {}, code);
}

/** Whether any provider documents this code. */
export function isErrorCode(code: string): boolean {
  return providerNames.some((name) => isErrorCodeOf(name, code));
}
