import { openai as family } from "@calotype/core/families/openai";
import type { Provider } from "./provider.ts";

/** GPT Image of OpenAI. The prices are for a million tokens. */
export const openai = {
  family,
  models: { "gpt-image-2": { family: "openai" } },
  variables: ["OPENAI_API_KEY"],
  channel: {
    id: "openai",
    family: "openai",
    apiKey: process.env.OPENAI_API_KEY,
    baseUrl: process.env.OPENAI_BASE_URL || undefined,
    modelMapping: { "gpt-image-2": "gpt-image-2" },
  },
  prices: {
    "gpt-image-2": { pricing_mode: "per-token", output_token_price: "30", input_token_price: "5" },
  },
} satisfies Provider;
