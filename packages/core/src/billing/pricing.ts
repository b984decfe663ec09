import { GatewayError } from "../errors.js";
import { countPixels } from "../images/size.js";
import type { DecimalInput, MadeImage, Usage } from "../types.js";
import { type Decimal, describeValue, toDecimal } from "../util/decimal.js";
import type { JsonObject } from "../util/json.js";
import { createSeriesMap } from "../util/series.js";
import type { Charge, ChargeReport, Price, RequestBounds } from "./charge.js";
import { createRequestPrice, createTokenPrice } from "./flat-prices.js";
import { createImagePrice } from "./image-prices.js";
import {
  DEFAULT_GROUP,
  isPerImage,
  type ModelDetails,
  type PerTokenDetails,
  type PriceTables,
} from "./model-details.js";
import { showPrice } from "./show-price.js";
import { createTokenKindPrice, hasKindPrices } from "./token-prices.js";

/** The prices of the gateway. */
export interface PriceList {
  /** The tables that it was made from. */
  readonly tables: PriceTables;
  /**
   * @throws GatewayError `model_not_priced` or `group_not_priced`: with `billing`, a request without a price is refused
   */
  find(model: string, group: string): Price;
  /**
   * Returns what a price is made of, to be stored: {@link restorePrice} makes the price from it.
   *
   * @throws GatewayError as `find` does
   */
  findTerms(model: string, group: string): PriceTerms;
  /** Returns the price for callers of a group to show, see {@link showPrice}. `undefined` if `find` throws. */
  show(model: string, group: string): JsonObject | undefined;
}

/** The price of a model and the ratio of a group, as they are in the options. Plain data. */
export interface PriceTerms {
  readonly details: ModelDetails;
  readonly group_ratio: DecimalInput;
}

/** Makes a price from its stored terms. */
export function restorePrice({ details, group_ratio }: PriceTerms): Price {
  return createPrice(details, group_ratio);
}

/** Creates a price list from validated options. */
export function createPriceList({ model_details, group_ratio }: PriceTables): PriceList {
  const tables = { model_details, group_ratio: group_ratio ?? { [DEFAULT_GROUP]: "1" } };
  const models = createSeriesMap(model_details);
  const ratios = new Map(Object.entries(tables.group_ratio));
  // Parsed at first use, as most of many models and groups may never be used. Bounded by the entries of both tables.
  const prices = new Map<ModelDetails, Map<string, Price>>();
  const findTerms: PriceList["findTerms"] = (model, group) => {
    const details = models.find(model)?.value;
    if (details === undefined)
      throw new GatewayError("model_not_priced", `The model ${model.slice(0, 128)} has no price here.`);
    const ratio = ratios.get(group);
    if (ratio === undefined)
      throw new GatewayError("group_not_priced", `The group ${group} has no price ratio here.`);
    return { details, group_ratio: ratio };
  };
  return {
    tables,
    findTerms,
    find(model, group) {
      const { details, group_ratio: ratio } = findTerms(model, group);
      const known = prices.get(details)?.get(group);
      if (known !== undefined) return known;
      const price = createPrice(details, ratio);
      const ofGroups = prices.get(details) ?? new Map<string, Price>();
      prices.set(details, ofGroups.set(group, price));
      return price;
    },
    show(model, group) {
      const details = models.find(model)?.value;
      const ratio = ratios.get(group);
      return details === undefined || ratio === undefined ? undefined : showPrice(details, ratio);
    },
  };
}

/** What {@link calculateCharge} needs. */
export interface ChargeInput {
  /** The prices of the model: an entry of `model_details`. */
  readonly details: ModelDetails;
  /** What the provider reported; `undefined` when it reported nothing. */
  readonly usage: Usage | undefined;
  /** The caller's price ratio. Default `"1"`. */
  readonly group_ratio?: DecimalInput | undefined;
  /** The images that were made, each with its actual size. Only `image_prices` use them. Default: none is known. */
  readonly images?: readonly MadeImage[] | undefined;
  /** How many reference images the request had. Only `reference_image_price` uses it. Default 0. */
  readonly reference_images?: number | undefined;
  /**
   * How many upstream calls made an image, if one request took several. Reference images are charged for each.
   * Default 1.
   */
  readonly upstream_calls?: number | undefined;
  /** The size that was requested, `<width>x<height>`: for images whose own size is unknown. */
  readonly requested_size?: string | undefined;
}

/**
 * Computes the charge for what a provider reported, without a gateway: for unit tests of prices and for invoices. The result is
 * exact, and depends on nothing but its input.
 *
 * @param input the prices of the model, what the provider reported, and the ratio of the caller's group (default `"1"`)
 * @throws RangeError when a price, the ratio, `decimal_places`, a count or the requested size is not usable.
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
export function calculateCharge({ details, group_ratio = "1", ...made }: ChargeInput): Charge {
  return createPrice(details, group_ratio).charge(toReport(made));
}

function toReport({
  usage,
  images,
  reference_images,
  upstream_calls,
  requested_size,
}: Omit<ChargeInput, "details" | "group_ratio">): ChargeReport {
  const maxPixels = requested_size === undefined ? undefined : countPixels(requested_size);
  if (requested_size !== undefined && maxPixels === undefined) {
    throw new RangeError(
      `requested_size must be a size in pixels such as 2048x2048, not ${describeValue(requested_size)}`,
    );
  }
  const referenceImages = toWhole(reference_images ?? 0, "reference_images", 0);
  const callsWithImages = toWhole(upstream_calls ?? 1, "upstream_calls", 1);
  return { usage, images, request: { referenceImages, maxPixels }, callsWithImages };
}

/** What {@link estimateCharge} needs. */
export interface EstimateInput {
  /** The prices of the model: an entry of `model_details`. */
  readonly details: ModelDetails;
  /** The most that the request can make. */
  readonly request: RequestBounds;
  /** The caller's price ratio. Default `"1"`. */
  readonly group_ratio?: DecimalInput | undefined;
}

/**
 * The most that a request can be charged, known before it is sent: {@link calculateCharge} for `maxImages` images
 * of `maxPixels` each. By token, each image has `maxTokensPerImage` tokens of any kind (default: one for each 256
 * pixels), at the highest of the token prices; with `maxInputTokens` these are output, and the input is added. By
 * dimension, each image and each layer has the highest price that it can reach.
 * A gateway cuts a provider's report to the same bounds, so a charge is not above its estimate unless the response
 * holds more than `maxImages` images.
 *
 * @param input the prices of the model, the bounds of the request, and the ratio of the caller's group (default `"1"`)
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
export function estimateCharge({ details, request, group_ratio = "1" }: EstimateInput): Charge {
  const { maxImages, maxPixels, maxTokensPerImage, maxTextTokensPerImage, maxInputTokens } = request;
  const { maxLayers, referenceImages, upstreamCalls, quality } = request;
  return createPrice(details, group_ratio).estimate({
    maxImages: toWhole(maxImages, "request.maxImages", 1),
    maxPixels: toOptional(maxPixels, "request.maxPixels", 1),
    maxTokensPerImage: toOptional(maxTokensPerImage, "request.maxTokensPerImage", 0),
    maxTextTokensPerImage: toOptional(maxTextTokensPerImage, "request.maxTextTokensPerImage", 0),
    maxInputTokens: toOptional(maxInputTokens, "request.maxInputTokens", 0),
    maxLayers: toWhole(maxLayers ?? 0, "request.maxLayers", 0),
    referenceImages: toWhole(referenceImages ?? 0, "request.referenceImages", 0),
    upstreamCalls: toWhole(upstreamCalls ?? 1, "request.upstreamCalls", 1),
    quality,
  });
}

/** Parses a price once, for many charges. */
function createPrice(details: ModelDetails, group_ratio: DecimalInput): Price {
  const ratio = toDecimal(group_ratio, "group_ratio");
  switch (details.pricing_mode) {
    case "per-request":
      return isPerImage(details) ? createImagePrice(details, ratio) : createRequestPrice(details, ratio);
    case "per-token":
      return createPriceByToken(details, ratio);
    default:
      throw new RangeError(
        `pricing_mode must be "per-request" or "per-token", not ${describeValue((details as { pricing_mode: unknown }).pricing_mode)}`,
      );
  }
}

function createPriceByToken(details: PerTokenDetails, ratio: Decimal): Price {
  return hasKindPrices(details) ? createTokenKindPrice(details, ratio) : createTokenPrice(details, ratio);
}

/** Takes `null` as absent, because a back office may send it. */
function toOptional(value: number | undefined, name: string, min: number): number | undefined {
  const given = value ?? undefined;
  return given === undefined ? undefined : toWhole(given, name, min);
}

function toWhole(value: number, name: string, min: number): number {
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new RangeError(`${name} must be a whole number of at least ${min}, not ${describeValue(value)}`);
}
