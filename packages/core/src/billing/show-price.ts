import type { DecimalInput } from "../types.js";
import { formatDecimal, multiplyDecimal, toDecimal } from "../util/decimal.js";
import type { JsonObject } from "../util/json.js";
import type {
  ModelDetails,
  PerImageDetails,
  PerRequestDetails,
  PerTokenDetails,
  PriceTier,
} from "./model-details.js";

/** Every field of a price: prices, which are multiplied, and plain values. Fields that are not listed are not shown. */
const FIELDS: Readonly<Record<string, "price" | "plain">> = {
  pricing_mode: "plain",
  model_price: "price",
  image_prices: "price",
  reference_image_price: "price",
  free_reference_images: "plain",
  layer_price: "price",
  output_token_price: "price",
  input_token_price: "price",
  input_text_token_price: "price",
  input_image_token_price: "price",
  cached_input_token_price: "price",
  output_image_token_price: "price",
  output_text_token_price: "price",
  decimal_places: "plain",
} satisfies Record<
  keyof PerRequestDetails | keyof PerImageDetails | keyof PerTokenDetails,
  "price" | "plain"
>;

/**
 * Returns the price of a model for the callers of one group: the fields of `model_details`, each price multiplied by the
 * ratio of the group, as exact decimal strings.
 */
export function showPrice(details: ModelDetails, group_ratio: DecimalInput): JsonObject {
  const ratio = toDecimal(group_ratio, "group_ratio");
  const multiply = (price: DecimalInput, name: string): string =>
    formatDecimal(multiplyDecimal(toDecimal(price, name), ratio));
  const show = (value: unknown, name: string): unknown => {
    if (FIELDS[name] === "plain") return value;
    return isTiers(value)
      ? value.map((tier) => ({ ...tier, price: multiply(tier.price, name) }))
      : multiply(String(value), name);
  };
  return Object.fromEntries(
    Object.entries(details)
      .filter(isShown)
      .map(([name, value]) => [name, show(value, name)]),
  );
}

function isShown([name, value]: [string, unknown]): boolean {
  return Object.hasOwn(FIELDS, name) && value !== undefined && value !== null;
}

function isTiers(value: unknown): value is readonly PriceTier[] {
  return Array.isArray(value);
}
