/** The APIs of the emulator, each with the name by which faults and recorded requests name it. */
export const providerNames = [
  "ark",
  "dashscope",
  "openai",
  "azure",
  "xai",
  "openrouter",
  "together",
  "siliconflow",
  "zhipu",
  "vllm",
  "localai",
  "gemini",
  "bfl",
  "fal",
  "replicate",
  "relay",
  "minimax",
  "recraft",
  "mai",
  "ideogram",
  "tokenhub",
  "vertex",
] as const;

/**
 * `ark`: Volcengine Ark, the Seedream models. `dashscope`: Alibaba Cloud DashScope, the Qwen-Image and Wan models.
 * `openai`: OpenAI's images API. `azure`, `xai`, `openrouter`, `together`, `siliconflow`, `zhipu`, `vllm`, `localai`:
 * services with a dialect of OpenAI's images API, and so are `minimax`, `recraft`, `mai` (Microsoft's models on Azure),
 * `ideogram` and `tokenhub` (Tencent). `gemini`: Google's Gemini API; `vertex`: the same models on Vertex AI. `bfl`: Black Forest Labs, the FLUX
 * models. `fal`: fal's queue. `replicate`: Replicate's predictions. `relay`: a relay of OpenAI's requests that responds with
 * the id of a task.
 */
export type ProviderName = (typeof providerNames)[number];
