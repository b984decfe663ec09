import * as fc from "fast-check";
import type { ModelDetails, PerRequestDetails, PerTokenDetails } from "../billing/pricing.js";
import type { Usage } from "../types.js";

/** Digits as prices have them: as many as are allowed, few, and those at which a rounding turns. */
const digits = fc.oneof(
  fc.bigInt({ min: 0n, max: 10n ** 30n - 1n }).map(String),
  fc.nat({ max: 9_999 }).map(String),
  fc
    .tuple(fc.nat({ max: 999 }), fc.integer({ min: 1, max: 30 }))
    .map(([number, width]) => String(number).padStart(width, "0")),
  fc.constantFrom("0", "1", "5", "05", "50", "500", "4999", "49999999", "9".repeat(30), "0".repeat(30)),
);

/** A price or a ratio of up to 30 digits on either side. */
export const anyDecimal: fc.Arbitrary<string> = fc
  .tuple(digits, fc.option(digits, { nil: undefined }))
  .map(([whole, fraction]) => (fraction === undefined ? whole : `${whole}.${fraction}`));

export const anyCount: fc.Arbitrary<number> = fc.oneof(
  fc.nat({ max: 15 }),
  fc.nat({ max: 1_000_000 }),
  fc.maxSafeNat(),
);

const places = fc.option(fc.nat({ max: 30 }), { nil: undefined });

export const anyPerRequest: fc.Arbitrary<PerRequestDetails> = fc.record({
  pricing_mode: fc.constant("per-request"),
  model_price: anyDecimal,
  decimal_places: places,
});

export const anyPerToken: fc.Arbitrary<PerTokenDetails> = fc.record({
  pricing_mode: fc.constant("per-token"),
  output_token_price: anyDecimal,
  input_token_price: fc.option(anyDecimal, { nil: undefined }),
  decimal_places: places,
});

export const anyDetails: fc.Arbitrary<ModelDetails> = fc.oneof(anyPerRequest, anyPerToken);

/** Any report of a provider, or none. */
export const anyUsage: fc.Arbitrary<Usage | undefined> = fc.option(
  fc.record(
    { generated_images: anyCount, output_tokens: anyCount, total_tokens: anyCount },
    { requiredKeys: [] },
  ),
  { nil: undefined },
);
