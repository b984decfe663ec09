import * as fc from "fast-check";
import type {
  ImagePrice,
  ModelDetails,
  PerImageDetails,
  PerRequestDetails,
  PerTokenDetails,
  PriceTier,
} from "../billing/model-details.js";
import type { MadeImage, Usage } from "../types.js";

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

const anyPerRequest: fc.Arbitrary<PerRequestDetails> = fc.record({
  pricing_mode: fc.constant("per-request"),
  model_price: anyDecimal,
  decimal_places: places,
});

const anyPerToken: fc.Arbitrary<PerTokenDetails> = fc.record({
  pricing_mode: fc.constant("per-token"),
  output_token_price: anyDecimal,
  input_token_price: fc.option(anyDecimal, { nil: undefined }),
  decimal_places: places,
});

const optionalPrice = fc.option(anyDecimal, { nil: undefined });

/** Prices; at least one is for a kind of token. */
export const anyPerTokenKind: fc.Arbitrary<PerTokenDetails> = fc.record({
  pricing_mode: fc.constant("per-token"),
  output_token_price: anyDecimal,
  input_token_price: optionalPrice,
  input_text_token_price: anyDecimal,
  input_image_token_price: optionalPrice,
  cached_input_token_price: optionalPrice,
  output_image_token_price: optionalPrice,
  output_text_token_price: optionalPrice,
  decimal_places: places,
});

/** Pixels of images, many of them at the ends of tiers. */
const anyPixels = fc.oneof(fc.constantFrom(1, 4, 99, 100, 101, 10_000), fc.integer({ min: 1, max: 40_000 }));

const anyTiers: fc.Arbitrary<readonly PriceTier[]> = fc
  .tuple(fc.uniqueArray(anyPixels, { maxLength: 3 }), fc.array(anyDecimal, { minLength: 4, maxLength: 4 }))
  .map(([ends, prices]) => [
    ...ends
      .toSorted((one, other) => one - other)
      .map((up_to_pixels, at) => ({ up_to_pixels, price: prices[at] ?? "0" })),
    { price: prices[3] ?? "0" },
  ]);

const anyQuality = fc.constantFrom("low", "high", undefined);

const anyImagePrices: fc.Arbitrary<readonly ImagePrice[]> = fc
  .array(fc.tuple(anyQuality, anyTiers), { minLength: 1, maxLength: 3 })
  .map((lists) => new Map(lists))
  .map((lists) =>
    [...lists].flatMap(([quality, tiers]) =>
      tiers.map((tier) => (quality === undefined ? tier : { ...tier, quality })),
    ),
  );

export const anyPerImage: fc.Arbitrary<PerImageDetails> = fc.record({
  pricing_mode: fc.constant("per-request"),
  image_prices: anyImagePrices,
  reference_image_price: optionalPrice,
  free_reference_images: fc.option(fc.nat({ max: 3 }), { nil: undefined }),
  layer_price: fc.oneof(fc.constant(undefined), anyDecimal, anyTiers),
  decimal_places: places,
});

export const anyDetails: fc.Arbitrary<ModelDetails> = fc.oneof(anyPerRequest, anyPerToken);

/** Prices by dimension. */
export const anyItemized: fc.Arbitrary<ModelDetails> = fc.oneof(anyPerImage, anyPerTokenKind);

/** A size in pixels, in either style. */
export const anySize: fc.Arbitrary<string> = fc
  .tuple(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 200 }), fc.constantFrom("x", "*"))
  .map(([width, height, separator]) => `${width}${separator}${height}`);

/** Any image of a response. */
export const anyMadeImage: fc.Arbitrary<MadeImage> = fc.record(
  {
    size: fc.oneof({ weight: 5, arbitrary: anySize }, fc.constantFrom("2K", "", "0x0")),
    quality: fc.constantFrom("low", "high", "other"),
    isLayer: fc.boolean(),
  },
  { requiredKeys: [] },
);

/** Any report of tokens by kind, whose sum can be counted. */
export const anyKindUsage: fc.Arbitrary<Usage> = fc.record(
  {
    output_tokens: fc.nat(),
    total_tokens: fc.nat(),
    output_image_tokens: fc.nat(),
    output_text_tokens: fc.nat(),
    input_text_tokens: fc.nat(),
    input_image_tokens: fc.nat(),
    cached_input_tokens: fc.nat(),
    generated_images: fc.nat({ max: 9 }),
  },
  { requiredKeys: [] },
);

/** Any report of a provider, or none. */
export const anyUsage: fc.Arbitrary<Usage | undefined> = fc.option(
  fc.record(
    { generated_images: anyCount, output_tokens: anyCount, total_tokens: anyCount },
    { requiredKeys: [] },
  ),
  { nil: undefined },
);
