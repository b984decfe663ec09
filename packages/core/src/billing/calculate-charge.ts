import type { Usage } from "../types.js";
import { type Decimal, formatDecimal, roundCharge, toDecimal } from "./decimal.js";
import type { DecimalInput } from "./decimal-input.js";
import { describeValue } from "./describe-value.js";
import type { ModelDetails, PerRequestDetails, PerTokenDetails } from "./model-details.js";

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

function chargePerRequest(details: PerRequestDetails, usage: Usage | undefined, ratio: Decimal): Charge {
  const price = toDecimal(details.model_price, "model_price");
  const count = toCount(usage?.generated_images, "generated_images") ?? 1;
  const exact = price.times(count).times(ratio);
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

function chargePerToken(details: PerTokenDetails, usage: Usage | undefined, ratio: Decimal): Charge {
  const outputPrice = toDecimal(details.output_token_price, "output_token_price");
  const inputPrice = toDecimal(details.input_token_price ?? "0", "input_token_price");
  const reportedOutput = toCount(usage?.output_tokens, "output_tokens");
  const reportedTotal = toCount(usage?.total_tokens, "total_tokens");
  const outputTokens = reportedOutput ?? reportedTotal ?? 0;
  const otherTokens = Math.max(0, (reportedTotal ?? outputTokens) - outputTokens);
  const tokenSource = findTokenSource(reportedOutput, reportedTotal);
  const perMillion = outputPrice.times(outputTokens).plus(inputPrice.times(otherTokens));
  const exact = perMillion.times("0.000001").times(ratio);
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
  return formatDecimal(roundCharge(exact, decimalPlaces));
}
