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

/** `model_price × usage.generated_images × group_ratio`. If the provider reports no count, it is 1. */
export function createRequestPrice(details: PerRequestDetails, ratio: Decimal): Price {
  const unit = toUnitPrice(details.model_price, "model_price", ratio);
  const rounding = createRounding(details.decimal_places);
  const group_ratio = formatDecimal(ratio);

  const chargeFor = (count: number, count_source: PerRequestDerivation["count_source"]): Charge => {
    const { exact, amount } = rounding.sum(multiplyDecimal(unit.ofOne, count));
    const { decimal_places } = rounding;
    return {
      amount,
      derivation: {
        pricing_mode: "per-request",
        count,
        count_source,
        model_price: unit.price,
        group_ratio,
        exact,
        ...(decimal_places !== undefined && { decimal_places }),
      },
    };
  };

  return {
    charge({ usage }) {
      const reported = toCount(usage?.generated_images, "usage.generated_images");
      return reported === undefined ? chargeFor(1, "default") : chargeFor(reported, "generated_images");
    },
    estimate: ({ maxImages }) => chargeFor(maxImages, "request"),
  };
}

/** The tokens of one charge: `total_tokens − output_tokens` are the other tokens. */
interface TokenCounts {
  readonly outputTokens: number;
  readonly otherTokens: number;
  readonly source: PerTokenDerivation["token_source"];
}

/** `output_tokens` and the other tokens, each at its price for a million, times `group_ratio`. */
export function createTokenPrice(details: PerTokenDetails, ratio: Decimal): Price {
  const output = toTokenPrice(details.output_token_price, "output_token_price", ratio);
  const input = toTokenPrice(details.input_token_price ?? "0", "input_token_price", ratio);
  const rounding = createRounding(details.decimal_places);
  const group_ratio = formatDecimal(ratio);
  const isOutputDearest = isAtMost(input.ofOne, output.ofOne);

  const chargeFor = ({ outputTokens, otherTokens, source }: TokenCounts): Charge => {
    const forOutput = multiplyDecimal(output.ofOne, outputTokens);
    const { exact, amount } = rounding.sum(
      otherTokens === 0 ? forOutput : addDecimals(forOutput, multiplyDecimal(input.ofOne, otherTokens)),
    );
    const { decimal_places } = rounding;
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
        exact,
        ...(decimal_places !== undefined && { decimal_places }),
        unpriced: source === "none",
      },
    };
  };

  return {
    charge({ usage }) {
      const reported = toCount(usage?.output_tokens, "usage.output_tokens");
      const total = toCount(usage?.total_tokens, "usage.total_tokens");
      const outputTokens = reported ?? total ?? 0;
      const otherTokens = Math.max(0, (total ?? outputTokens) - outputTokens);
      return chargeFor({ outputTokens, otherTokens, source: findSource(reported, total) });
    },
    estimate(request) {
      const tokens = toCount(countMaxTokens(request).all, "the number of tokens") ?? 0;
      return chargeFor({
        outputTokens: isOutputDearest ? tokens : 0,
        otherTokens: isOutputDearest ? 0 : tokens,
        source: "request",
      });
    },
  };
}

function findSource(
  reported: number | undefined,
  total: number | undefined,
): PerTokenDerivation["token_source"] {
  if (reported !== undefined) return "output_tokens";
  return total === undefined ? "none" : "total_tokens";
}
