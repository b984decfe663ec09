import { gemini as family } from "@calotype/core/families/gemini";
import type { Provider } from "./provider.ts";

/** Google's image models on the Gemini API. The prices are for a million tokens. */
export const gemini = {
  family,
  models: { "gemini-nano-banana-2.1": { family: "gemini" } },
  variables: ["GEMINI_API_KEY"],
  channel: {
    id: "google",
    family: "gemini",
    apiKey: process.env.GEMINI_API_KEY,
    baseUrl: process.env.GEMINI_BASE_URL || undefined,
    modelMapping: { "gemini-nano-banana-2.1": "gemini-nano-banana-2.1" },
  },
  prices: {
    "gemini-nano-banana-2.1": {
      pricing_mode: "per-token",
      output_token_price: "30",
      input_token_price: "1.5",
    },
  },
} satisfies Provider;
