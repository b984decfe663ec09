import { expect, it } from "vitest";
import type { DecimalInput } from "../types.js";
import type { ModelDetails } from "./model-details.js";
import { showPrice } from "./show-price.js";

it.each<[string, ModelDetails, DecimalInput, object]>([
  [
    "a flat price",
    { pricing_mode: "per-request", model_price: "0.30" },
    "1",
    { pricing_mode: "per-request", model_price: "0.3" },
  ],
  [
    "prices by dimension",
    {
      pricing_mode: "per-request",
      image_prices: [
        { up_to_pixels: 1_000_000, price: "0.1" },
        { price: 0.2, quality: "high" },
      ],
      reference_image_price: "0.003",
      free_reference_images: 1,
      layer_price: [{ price: "0.01" }],
      decimal_places: 4,
    },
    "1.5",
    {
      pricing_mode: "per-request",
      image_prices: [
        { up_to_pixels: 1_000_000, price: "0.15" },
        { price: "0.3", quality: "high" },
      ],
      reference_image_price: "0.0045",
      free_reference_images: 1,
      layer_price: [{ price: "0.015" }],
      decimal_places: 4,
    },
  ],
  [
    "one price of layers",
    { pricing_mode: "per-request", image_prices: [{ price: "1" }], layer_price: "0.5" },
    2,
    { pricing_mode: "per-request", image_prices: [{ price: "2" }], layer_price: "1" },
  ],
  [
    "prices of tokens",
    {
      pricing_mode: "per-token",
      output_token_price: "12.2",
      input_token_price: "0",
      input_text_token_price: 5,
      input_image_token_price: undefined,
      cached_input_token_price: "1.25",
    },
    "0.1",
    {
      pricing_mode: "per-token",
      output_token_price: "1.22",
      input_token_price: "0",
      input_text_token_price: "0.5",
      cached_input_token_price: "0.125",
    },
  ],
])("showPrice multiplies %s by the ratio of the group", (_what, details, ratio, shown) => {
  expect(showPrice(details, ratio)).toEqual(shown);
});

it("showPrice does not show fields that are not part of a price", () => {
  const details = { pricing_mode: "per-request" as const, model_price: "1", cost: "0.2", note: null };
  expect(showPrice(details, "1")).toEqual({ pricing_mode: "per-request", model_price: "1" });
});
