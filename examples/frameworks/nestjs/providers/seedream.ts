import type { Provider } from "./provider.ts";

/** Seedream on Volcengine Ark. */
export const seedream = {
  models: {
    "seedream-5-0-flash-260915": { family: "seedream" },
    "seedream-4-5-251128": { family: "seedream" },
  },
  variables: ["ARK_API_KEY"],
  channel: {
    id: "ark",
    family: "seedream",
    apiKey: process.env.ARK_API_KEY,
    baseUrl: process.env.ARK_BASE_URL || undefined,
    modelMapping: {
      "seedream-5-0-flash-260915": "doubao-seedream-5-0-flash-260915",
      "seedream-4-5-251128": "doubao-seedream-4-5-251128",
    },
  },
  prices: {
    "seedream-5-0-flash-260915": { pricing_mode: "per-request", model_price: "0.12" },
    "seedream-4-5-251128": { pricing_mode: "per-request", model_price: "0.25" },
  },
} satisfies Provider;
