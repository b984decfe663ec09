import { type Charge, type ChargeDerivation, calculateCharge } from "./calculate-charge.js";
import { toDecimal } from "./decimal.js";
import type { DecimalInput } from "./decimal-input.js";
import { describeValue } from "./describe-value.js";
import type { ModelDetails } from "./model-details.js";

/** What a request can make at most. A request that a family understood is one. */
export interface RequestBounds {
  /** The most images, at least 1. */
  readonly maxImages: number;
  /** The most pixels of one image, width × height. Default 16,777,216. */
  readonly maxPixels?: number | undefined;
}

/** What {@link estimateCharge} needs. */
export interface EstimateInput {
  readonly details: ModelDetails;
  readonly request: RequestBounds;
  /** The caller's price ratio. Default `"1"`. */
  readonly group_ratio?: DecimalInput | undefined;
}

/** 4096 × 4096: the most that Ark's image generation reference states for any Seedream model (November 2026). */
const MOST_PIXELS = 16_777_216;

/** Pixels that make one token, by the same reference: an image of 2048 × 2048 is reported with 16,384. */
const PIXELS_PER_TOKEN = 256;

/**
 * The most that a request can be charged, known before it is sent: {@link calculateCharge} for `maxImages` images
 * of `maxPixels` each. By token, 256 pixels count as one token of any kind, at the higher of the two token prices.
 * A gateway cuts a provider's report to the same bounds, so a charge is not above its estimate unless the response
 * holds more than `maxImages` images.
 *
 * @throws RangeError when a price, the ratio, `decimal_places` or a bound of the request is not usable.
 * @example
 * ```ts
 * import { estimateCharge } from "@calotype/core/billing";
 *
 * const { amount } = estimateCharge({
 *   details: { pricing_mode: "per-token", output_token_price: "12.2" },
 *   request: { maxImages: 4, maxPixels: 2048 * 2048 },
 * });
 * // amount === "0.7995392", that is 4 × 16,384 tokens
 * ```
 */
export function estimateCharge({ details, request, group_ratio }: EstimateInput): Charge {
  const maxImages = toBound(request.maxImages, "maxImages");
  const maxPixels = toBound(request.maxPixels ?? MOST_PIXELS, "maxPixels");
  const tokens = countMaxTokens({ maxImages, maxPixels });
  const usage = {
    generated_images: maxImages,
    output_tokens: isOutputCheaper(details) ? 0 : tokens,
    total_tokens: tokens,
  };
  const { amount, derivation } = calculateCharge({ details, usage, group_ratio });
  return { amount, derivation: fromRequest(derivation) };
}

/** The most tokens that a request can be charged for: one for each 256 pixels that it can make. */
export function countMaxTokens({ maxImages, maxPixels = MOST_PIXELS }: RequestBounds): number {
  return maxImages * Math.ceil(maxPixels / PIXELS_PER_TOKEN);
}

/** The input price is the higher one, so a report without output tokens costs the most. */
function isOutputCheaper(details: ModelDetails): boolean {
  if (details.pricing_mode !== "per-token") return false;
  const inputPrice = toDecimal(details.input_token_price ?? "0", "input_token_price");
  return inputPrice.gt(toDecimal(details.output_token_price, "output_token_price"));
}

/** Marks the numbers as estimates that were computed from the request. */
function fromRequest(derivation: ChargeDerivation): ChargeDerivation {
  return derivation.pricing_mode === "per-request"
    ? { ...derivation, count_source: "request" }
    : { ...derivation, token_source: "request" };
}

function toBound(value: number, name: string): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new RangeError(`request.${name} must be a whole number of at least 1, not ${describeValue(value)}`);
}
