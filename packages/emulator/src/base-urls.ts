import type { ProviderName } from "./provider-name.js";

/**
 * The base URL of each API of an emulator at this origin. Ark and DashScope have the paths of their real base URLs. The
 * paths of the others begin with the name of the API, because several of them have the same real path.
 */
export function baseUrlsAt(origin: string): Record<ProviderName, string> {
  return {
    ark: `${origin}/api/v3`,
    dashscope: `${origin}/api/v1`,
    openai: `${origin}/openai/v1`,
    azure: `${origin}/azure/openai/v1`,
    xai: `${origin}/xai/v1`,
    openrouter: `${origin}/openrouter/api/v1`,
    together: `${origin}/together/v1`,
    siliconflow: `${origin}/siliconflow/v1`,
    zhipu: `${origin}/zhipu/api/paas/v4`,
    vllm: `${origin}/vllm/v1`,
    localai: `${origin}/localai/v1`,
    gemini: `${origin}/gemini/v1beta`,
    bfl: `${origin}/bfl/v1`,
    fal: `${origin}/fal`,
    replicate: `${origin}/replicate/v1`,
    relay: `${origin}/relay/v1`,
    minimax: `${origin}/minimax/v1`,
    recraft: `${origin}/recraft/v1`,
    mai: `${origin}/azure/mai/v1`,
    ideogram: `${origin}/ideogram/v2`,
    tokenhub: `${origin}/tokenhub/v1`,
    vertex: `${origin}/vertex/v1/projects/emulator/locations/global/publishers/google`,
  };
}
