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
] as const;

/**
 * `ark`: Volcengine Ark, the Seedream models. `dashscope`: Alibaba Cloud DashScope, the Qwen-Image and Wan models.
 * `openai`: OpenAI's images API. `azure`, `xai`, `openrouter`, `together`, `siliconflow`, `zhipu`, `vllm`, `localai`:
 * services with a dialect of OpenAI's images API. `gemini`: Google's Gemini API. `bfl`: Black Forest Labs, the FLUX
 * models. `fal`: fal's queue. `replicate`: Replicate's predictions. `relay`: a relay of OpenAI's requests that responds with
 * the id of a task.
 */
export type ProviderName = (typeof providerNames)[number];
