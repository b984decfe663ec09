// Invented prices of a shop; the providers' price lists are in provider-prices.ts. The gateway takes the same object as
// `billing`, so the tests next to this file check what callers will be charged.
import type { PriceTables } from "@calotype/core/billing";

export const prices = {
  model_details: {
    "seedream-4-5-251128": { pricing_mode: "per-request", model_price: "0.04" },
    "image-max": { pricing_mode: "per-request", model_price: "0.075", decimal_places: 2 },
    "seedream-5-0-lite-260128": {
      pricing_mode: "per-token",
      output_token_price: "15.5",
      input_token_price: "2",
    },
  },
  group_ratio: { default: "1", vip: "0.8", reseller: "0.655" },
} satisfies PriceTables;
