import type { Provider } from "./provider.ts";

/** Qwen-Image on Alibaba Cloud Model Studio (DashScope). */
export const qwenImage = {
  models: {
    "qwen-image-max": { family: "qwen-image" },
    // `edits` opens /v1/images/edits to it, as OpenAI's packages need.
    "qwen-image-edit-max": { family: "qwen-image", edits: true },
  },
  variables: ["DASHSCOPE_API_KEY"],
  channel: {
    id: "dashscope",
    family: "qwen-image",
    apiKey: process.env.DASHSCOPE_API_KEY,
    baseUrl: process.env.DASHSCOPE_BASE_URL || undefined,
    modelMapping: { "qwen-image-max": "qwen-image-max", "qwen-image-edit-max": "qwen-image-edit-max" },
  },
  prices: {
    "qwen-image-max": { pricing_mode: "per-request", model_price: "0.5" },
    "qwen-image-edit-max": { pricing_mode: "per-request", model_price: "0.5" },
  },
} satisfies Provider;
