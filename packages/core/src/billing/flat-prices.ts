import type { Usage } from "../types.js";
import { addDecimals, type Decimal, formatDecimal, isAtMost, multiplyDecimal } from "../util/decimal.js";
import {
  type Charge,
  countMaxTokens,
  createRounding,
  type PerRequestDerivation,
  type PerTokenDerivation,
  type Price,
  toCount,
  toTokenPrice,
  toUnitPrice,
} from "./charge.js";
import type { PerRequestDetails, PerTokenDetails } from "./model-details.js";
import { splitTokens, sumTokens } from "./usage.js";

/** `model_price × usage.generated_images × group_ratio`. If the provider reports no count, it is 1. */
export function createRequestPrice(details: PerRequestDetails, ratio: Decimal): Price {
  const unit = toUnitPrice(details.model_price, "model_price", ratio);
  const rounding = createRounding(details.decimal_places);
  const group_ratio = formatDecimal(ratio);

  const chargeFor = (count: number, count_source: PerRequestDerivation["count_source"]): Charge => {
    const { amount, shown } = rounding.sum(multiplyDecimal(unit.ofOne, count));
    const counted = { count, count_source, model_price: unit.price };
    return { amount, derivation: { pricing_mode: "per-request", ...counted, group_ratio, ...shown } };
  };

  return {
    charge({ usage }) {
      const reported = toCount(usage?.generated_images, "usage.generated_images");
      return reported === undefined ? chargeFor(1, "default") : chargeFor(reported, "generated_images");
    },
    estimate: ({ maxImages }) => chargeFor(maxImages, "request"),
  };
}

/** `output_tokens` and the other tokens, each at its price for a million, times `group_ratio`. */
export function createTokenPrice(details: PerTokenDetails, ratio: Decimal): Price {
  const output = toTokenPrice(details.output_token_price, "output_token_price", ratio);
  const input = toTokenPrice(details.input_token_price ?? "0", "input_token_price", ratio);
  const rounding = createRounding(details.decimal_places);
  const group_ratio = formatDecimal(ratio);
  const isOutputDearest = isAtMost(input.ofOne, output.ofOne);

  const chargeFor = (
    outputTokens: number,
    otherTokens: number,
    source: PerTokenDerivation["token_source"],
  ): Charge => {
    const forOutput = multiplyDecimal(output.ofOne, outputTokens);
    const { amount, shown } = rounding.sum(
      otherTokens === 0 ? forOutput : addDecimals(forOutput, multiplyDecimal(input.ofOne, otherTokens)),
    );
    return {
      amount,
      derivation: {
        pricing_mode: "per-token",
        output_tokens: outputTokens,
        other_tokens: otherTokens,
        token_source: source,
        output_token_price: output.price,
        input_token_price: input.price,
        group_ratio,
        ...shown,
        unpriced: source === "none",
      },
    };
  };

  return {
    charge({ usage = {} }) {
      const tokens = sumTokens(splitTokens(usage));
      return chargeFor(tokens.output, tokens.input, findSource(usage));
    },
    estimate(request) {
      const tokens = toCount(countMaxTokens(request).all, "the number of tokens") ?? 0;
      return isOutputDearest ? chargeFor(tokens, 0, "request") : chargeFor(0, tokens, "request");
    },
  };
}

function findSource({ output_tokens, total_tokens }: Usage): PerTokenDerivation["token_source"] {
  if (output_tokens !== undefined) return "output_tokens";
  return total_tokens === undefined ? "none" : "total_tokens";
}
