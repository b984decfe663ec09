import { GatewayError } from "../errors.js";
import type { DecimalInput, Usage } from "../types.js";
import { createSeriesMap } from "../util/series.js";
import {
  addDecimals,
  type Decimal,
  describeValue,
  formatDecimal,
  isAtMost,
  multiplyDecimal,
  roundDecimal,
  toDecimal,
} from "./decimal.js";

/** Charged by image: `model_price × usage.generated_images × group_ratio`. */
export interface PerRequestDetails {
  pricing_mode: "per-request";
  /** The price of one image. */
  model_price: DecimalInput;
  /** Round the charge once, half up, to this number of places (0 to 30). Default: exact. */
  decimal_places?: number | undefined;
}

/** Charged by the tokens that the provider reports. */
export interface PerTokenDetails {
  pricing_mode: "per-token";
  /** The price of a million output tokens. */
  output_token_price: DecimalInput;
  /** The price of a million of the other tokens, `total_tokens − output_tokens`. Default 0. */
  input_token_price?: DecimalInput | undefined;
  /** Round the charge once, half up, to this number of places (0 to 30). Default: exact. */
  decimal_places?: number | undefined;
}

/** The price of one model. The fields are spelled as in the back office of the interface. */
export type ModelDetails = PerRequestDetails | PerTokenDetails;

/** Prices and ratios. */
export interface PriceTables {
  /** Service model, or series such as `image-edit*`, to its price. An exact name wins, then the longest prefix. */
  readonly model_details: Readonly<Record<string, ModelDetails>>;
  /** Caller group to its ratio. Default `{ default: "1" }`. */
  readonly group_ratio?: Readonly<Record<string, DecimalInput>> | undefined;
}

/** The group of a caller that names none. */
export const DEFAULT_GROUP = "default";

/** The prices of the gateway. */
export interface PriceList {
  /**
   * @throws GatewayError `model_not_priced` or `group_not_priced`: with `billing`, a request without a price is refused
   */
  find(model: string, group: string): Price;
}

/** The price of one model for one group of callers. */
export interface Price {
  /** The charge for what a provider reported. */
  charge(usage: Usage | undefined): Charge;
  /** The most that a request can cost, before it is sent. */
  estimate(request: RequestBounds): Charge;
}

/** Creates a price list from validated options. */
export function createPriceList({ model_details, group_ratio }: PriceTables): PriceList {
  const models = createSeriesMap(model_details);
  const ratios = new Map(Object.entries(group_ratio ?? { [DEFAULT_GROUP]: "1" }));
  return {
    find(model, group) {
      const details = models.find(model)?.value;
      if (details === undefined)
        throw new GatewayError("model_not_priced", `The model ${model.slice(0, 128)} has no price here.`);
      const ratio = ratios.get(group);
      if (ratio === undefined)
        throw new GatewayError("group_not_priced", `The group ${group} has no price ratio here.`);
      return {
        charge: (usage) => calculateCharge({ details, usage, group_ratio: ratio }),
        estimate: (request) => estimateCharge({ details, request, group_ratio: ratio }),
      };
    },
  };
}

/** What {@link calculateCharge} needs. */
export interface ChargeInput {
  readonly details: ModelDetails;
  /** What the provider reported; `undefined` when it reported nothing. */
  readonly usage: Usage | undefined;
  /** The caller's price ratio. Default `"1"`. */
  readonly group_ratio?: DecimalInput | undefined;
}

/** How a charge by image came about: `model_price × count × group_ratio = exact`. */
export interface PerRequestDerivation {
  readonly pricing_mode: "per-request";
  readonly count: number;
  /**
   * `generated_images`: the provider reported it. `default`: it did not, and one request is counted. `request`: an
   * estimate, by the most images that the request may make.
   */
  readonly count_source: "generated_images" | "default" | "request";
  readonly model_price: string;
  readonly group_ratio: string;
  /** The charge before rounding. */
  readonly exact: string;
  /** The places that it was rounded to, half up. Absent: it was not rounded, and the charge is `exact`. */
  readonly decimal_places?: number;
}

/**
 * How a charge by token came about:
 * `(output_tokens × output_token_price + other_tokens × input_token_price) ÷ 1,000,000 × group_ratio = exact`.
 */
export interface PerTokenDerivation {
  readonly pricing_mode: "per-token";
  readonly output_tokens: number;
  /** `total_tokens − output_tokens`, and 0 where not both were reported. */
  readonly other_tokens: number;
  /**
   * Where `output_tokens` came from. `output_tokens`: the provider reported them. `total_tokens`: it reported the total
   * alone, all of which counts as output. `none`: it reported neither. `request`: an estimate, by the most pixels that
   * the request may make.
   */
  readonly token_source: "output_tokens" | "total_tokens" | "none" | "request";
  readonly output_token_price: string;
  readonly input_token_price: string;
  readonly group_ratio: string;
  /** The charge before rounding. */
  readonly exact: string;
  /** The places that it was rounded to, half up. Absent: it was not rounded, and the charge is `exact`. */
  readonly decimal_places?: number;
  /** True when the provider reported no tokens, so that nothing could be charged. */
  readonly unpriced: boolean;
}

/** Every number that entered a charge, so that a test or an invoice can show why. */
export type ChargeDerivation = PerRequestDerivation | PerTokenDerivation;

/** A charge and how it came about. */
export interface Charge {
  /** A decimal string of at least 0, exact unless `decimal_places` asked for a rounding. */
  readonly amount: string;
  readonly derivation: ChargeDerivation;
}

/**
 * The charge for what a provider reported. Pure, exact, and of use without a gateway.
 *
 * @throws RangeError when a price, the ratio, `decimal_places` or a count of the usage is not usable.
 * @example
 * ```ts
 * import { calculateCharge } from "@calotype/core/billing";
 *
 * const { amount } = calculateCharge({
 *   details: { pricing_mode: "per-request", model_price: "0.04" },
 *   usage: { generated_images: 4 },
 *   group_ratio: "0.8",
 * });
 * // amount === "0.128"
 * ```
 */
export function calculateCharge({ details, usage, group_ratio = "1" }: ChargeInput): Charge {
  const ratio = toDecimal(group_ratio, "group_ratio");
  switch (details.pricing_mode) {
    case "per-request":
      return chargePerRequest(details, usage, ratio);
    case "per-token":
      return chargePerToken(details, usage, ratio);
    default:
      throw new RangeError(
        `pricing_mode must be "per-request" or "per-token", not ${describeValue((details as { pricing_mode: unknown }).pricing_mode)}`,
      );
  }
}

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

function chargePerRequest(details: PerRequestDetails, usage: Usage | undefined, ratio: Decimal): Charge {
  const price = toDecimal(details.model_price, "model_price");
  const count = toCount(usage?.generated_images, "generated_images") ?? 1;
  const exact = multiplyDecimal(multiplyDecimal(price, count), ratio);
  return {
    amount: toAmount(exact, details.decimal_places),
    derivation: {
      pricing_mode: "per-request",
      count,
      count_source: usage?.generated_images === undefined ? "default" : "generated_images",
      model_price: formatDecimal(price),
      group_ratio: formatDecimal(ratio),
      exact: formatDecimal(exact),
      ...rounding(details.decimal_places),
    },
  };
}

const MILLIONTH: Decimal = { units: 1n, places: 6 };

function chargePerToken(details: PerTokenDetails, usage: Usage | undefined, ratio: Decimal): Charge {
  const outputPrice = toDecimal(details.output_token_price, "output_token_price");
  const inputPrice = toDecimal(details.input_token_price ?? "0", "input_token_price");
  const reportedOutput = toCount(usage?.output_tokens, "output_tokens");
  const reportedTotal = toCount(usage?.total_tokens, "total_tokens");
  const outputTokens = reportedOutput ?? reportedTotal ?? 0;
  const otherTokens = Math.max(0, (reportedTotal ?? outputTokens) - outputTokens);
  const tokenSource = findTokenSource(reportedOutput, reportedTotal);
  const forMillions = addDecimals(
    multiplyDecimal(outputPrice, outputTokens),
    multiplyDecimal(inputPrice, otherTokens),
  );
  const exact = multiplyDecimal(multiplyDecimal(forMillions, MILLIONTH), ratio);
  return {
    amount: toAmount(exact, details.decimal_places),
    derivation: {
      pricing_mode: "per-token",
      output_tokens: outputTokens,
      other_tokens: otherTokens,
      token_source: tokenSource,
      output_token_price: formatDecimal(outputPrice),
      input_token_price: formatDecimal(inputPrice),
      group_ratio: formatDecimal(ratio),
      exact: formatDecimal(exact),
      ...rounding(details.decimal_places),
      unpriced: tokenSource === "none",
    },
  };
}

function findTokenSource(
  reportedOutput: number | undefined,
  reportedTotal: number | undefined,
): PerTokenDerivation["token_source"] {
  if (reportedOutput !== undefined) return "output_tokens";
  return reportedTotal === undefined ? "none" : "total_tokens";
}

function toCount(value: number | undefined, name: string): number | undefined {
  if (value !== undefined && !(Number.isSafeInteger(value) && value >= 0)) {
    throw new RangeError(`usage.${name} must be a whole number of at least 0, not ${describeValue(value)}`);
  }
  return value;
}

function rounding(decimalPlaces: number | undefined): { decimal_places?: number } {
  return decimalPlaces === undefined ? {} : { decimal_places: decimalPlaces };
}

function toAmount(exact: Decimal, decimalPlaces: number | undefined): string {
  if (
    decimalPlaces !== undefined &&
    !(Number.isInteger(decimalPlaces) && decimalPlaces >= 0 && decimalPlaces <= 30)
  ) {
    throw new RangeError(
      `decimal_places must be a whole number from 0 to 30, not ${describeValue(decimalPlaces)}`,
    );
  }
  return formatDecimal(decimalPlaces === undefined ? exact : roundDecimal(exact, decimalPlaces));
}

/** The input price is the higher one, so a report without output tokens costs the most. */
function isOutputCheaper(details: ModelDetails): boolean {
  if (details.pricing_mode !== "per-token") return false;
  const inputPrice = toDecimal(details.input_token_price ?? "0", "input_token_price");
  return !isAtMost(inputPrice, toDecimal(details.output_token_price, "output_token_price"));
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
