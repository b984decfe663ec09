// What the providers themselves charge, as of November 2026. Prices per image; the currency is in the name.
import type { ModelDetails, PriceTables } from "@calotype/core/billing";

type Prices = PriceTables["model_details"];

const perImage = (model_price: string): ModelDetails => ({ pricing_mode: "per-request", model_price });

/** Volcengine Ark, in CNY. */
export const ARK_CNY = {
  "seedream-5-0-pro-*": {
    pricing_mode: "per-request",
    image_prices: [{ up_to_pixels: 2_610_000, price: "0.30" }, { price: "0.60" }],
    layer_price: [{ up_to_pixels: 2_610_000, price: "0.15" }, { price: "0.30" }],
  },
  "seedream-5-0-flash-*": perImage("0.12"),
  "seedream-5-0-lite-*": perImage("0.22"),
  "seedream-4-5-*": perImage("0.25"),
  "seedream-4-0-*": perImage("0.20"),
} satisfies Prices;

/** BytePlus ModelArk, in USD. */
export const BYTEPLUS_USD = {
  "seedream-5-0-pro-*": {
    pricing_mode: "per-request",
    image_prices: [{ up_to_pixels: 2_359_296, price: "0.045" }, { price: "0.09" }],
    layer_price: [{ up_to_pixels: 2_359_296, price: "0.0225" }, { price: "0.045" }],
    reference_image_price: "0.003",
    free_reference_images: 1,
  },
  "seedream-5-0-flash-*": perImage("0.018"),
  "seedream-5-0-lite-*": perImage("0.035"),
  "seedream-4-5-*": perImage("0.04"),
  "seedream-4-0-*": perImage("0.03"),
} satisfies Prices;

/** Alibaba Cloud Model Studio (DashScope), in CNY. */
export const DASHSCOPE_CNY = {
  "image-2.0-pro*": perImage("0.5"),
  "image-2.0*": perImage("0.2"),
  "image-max*": perImage("0.5"),
  "image-plus*": perImage("0.2"),
  "image-edit-max*": perImage("0.5"),
  "image-edit-plus*": perImage("0.2"),
  "image-edit": perImage("0.3"),
} satisfies Prices;
