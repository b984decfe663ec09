import * as z from "zod/mini";
import type {
  ImagePrice,
  PerImageDetails,
  PerRequestDetails,
  PerTokenDetails,
  PriceTier,
} from "../billing/model-details.js";
import { findTierProblems } from "../billing/price-tiers.js";
import { parseDecimal } from "../util/decimal.js";
import { isName, NAME_RULE } from "../util/name.js";
import type { Fields } from "../util/parse-fields.js";

/** A price, a ratio or a budget. */
export const decimal = z
  .union([z.string(), z.number()], 'must be a decimal such as "0.04"')
  .check(
    z.refine((value) => parseDecimal(value) !== undefined, 'must be a decimal of at least 0, such as "0.04"'),
  );

const price = z.optional(decimal);

const decimalPlaces = z.optional(
  z
    .int("must be a whole number")
    .check(z.minimum(0, "must be at least 0"), z.maximum(30, "must be at most 30")),
);

const upToPixels = z.optional(
  z.int("must be a whole number of pixels").check(z.minimum(1, "must be at least 1")),
);

const tier = { up_to_pixels: upToPixels, price: decimal } satisfies Fields<PriceTier>;
const quality = z
  .string("must be a string")
  .check(z.minLength(1, "must not be empty"), z.refine(isName, `must be ${NAME_RULE}`));

const A_TIER = "must be an object with price, and with up_to_pixels if it is not the last one";
const imagePrices = z
  .array(
    z.strictObject({ ...tier, quality: z.optional(quality) } satisfies Fields<ImagePrice>, A_TIER),
    "must be a list of prices by size",
  )
  .check(checkTiers);
const layerPrice = z.union(
  [z.array(z.strictObject(tier, A_TIER)).check(checkTiers), decimal],
  'must be a decimal such as "0.04", or a list of prices by size',
);

/** An option that has no effect with this `pricing_mode`. */
const ofTokens = z.optional(z.never('is a price of tokens: it needs pricing_mode "per-token"'));
const ofImages = z.optional(z.never('is a price of images: it needs pricing_mode "per-request"'));

type PriceOption = keyof (PerRequestDetails & PerImageDetails & PerTokenDetails);

const perRequest = z
  .strictObject({
    pricing_mode: z.literal("per-request"),
    model_price: price,
    image_prices: z.optional(imagePrices),
    reference_image_price: price,
    free_reference_images: z.optional(
      z.int("must be a whole number").check(z.minimum(0, "must be at least 0")),
    ),
    layer_price: z.optional(layerPrice),
    output_token_price: ofTokens,
    input_token_price: ofTokens,
    input_text_token_price: ofTokens,
    input_image_token_price: ofTokens,
    cached_input_token_price: ofTokens,
    output_image_token_price: ofTokens,
    output_text_token_price: ofTokens,
    decimal_places: decimalPlaces,
  } satisfies Record<PriceOption, z.ZodMiniType>)
  .check(({ value, issues }) => {
    for (const [option, message] of findMismatches(value)) {
      issues.push({ code: "custom", path: [option], message, input: undefined });
    }
  });

const perToken = z.strictObject({
  pricing_mode: z.literal("per-token"),
  output_token_price: decimal,
  input_token_price: price,
  input_text_token_price: price,
  input_image_token_price: price,
  cached_input_token_price: price,
  output_image_token_price: price,
  output_text_token_price: price,
  model_price: ofImages,
  image_prices: ofImages,
  reference_image_price: ofImages,
  free_reference_images: ofImages,
  layer_price: ofImages,
  decimal_places: decimalPlaces,
} satisfies Record<PriceOption, z.ZodMiniType>);

/** The price of one model. */
export const modelDetails = z.discriminatedUnion(
  "pricing_mode",
  [perRequest, perToken],
  'needs pricing_mode: "per-request" or "per-token"',
);

/** Options of a price by image that do not go together. */
function* findMismatches(
  details: Partial<Record<PriceOption, unknown>>,
): Iterable<readonly [option: PriceOption, message: string]> {
  const isGiven = (option: PriceOption): boolean => details[option] !== undefined;
  if (isGiven("model_price")) {
    if (isGiven("image_prices")) {
      yield ["image_prices", "takes the place of model_price: give only one of them"];
    }
    for (const option of ["reference_image_price", "layer_price"] as const) {
      if (!isGiven(option) || isGiven("image_prices")) continue;
      yield [option, "needs image_prices in the place of model_price, such as [{ price: … }]"];
    }
  } else if (!isGiven("image_prices")) {
    yield ["model_price", 'must be a decimal such as "0.04", or give image_prices'];
  }
  if (isGiven("free_reference_images") && !isGiven("reference_image_price")) {
    yield ["free_reference_images", "has no effect without reference_image_price"];
  }
}

function checkTiers({ value, issues }: z.core.ParsePayload<readonly ImagePrice[]>): void {
  for (const { path, message } of findTierProblems(value)) {
    issues.push({ code: "custom", path: [...path], message, input: undefined });
  }
}
