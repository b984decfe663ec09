import type { DecimalInput } from "../types.js";

/** Charged by image: `model_price × usage.generated_images × group_ratio`. */
export interface PerRequestDetails {
  pricing_mode: "per-request";
  /** The price of one image. */
  model_price: DecimalInput;
  /** Round the charge once, half up, to this number of places (0 to 30). Default: exact. */
  decimal_places?: number | undefined;
}

/**
 * Charged by what was made: each image by its pixels, and reference images and layers if they have prices. These
 * prices take the place of `model_price`.
 */
export interface PerImageDetails {
  pricing_mode: "per-request";
  /** The price of each image that was made, by its pixels. */
  image_prices: readonly ImagePrice[];
  /** The price of each reference image of a request that made an image. Default 0. */
  reference_image_price?: DecimalInput | undefined;
  /** How many reference images of a request are free. Needs `reference_image_price`. Default 0. */
  free_reference_images?: number | undefined;
  /** The price of each layer, or prices by the pixels of the layer. Default: a layer costs what an image costs. */
  layer_price?: DecimalInput | readonly PriceTier[] | undefined;
  /** Round the charge once, half up, to this number of places (0 to 30). Default: exact. */
  decimal_places?: number | undefined;
}

/** A price of images up to a number of pixels. */
export interface PriceTier {
  /**
   * The pixels (width × height) of the largest image with this price. Each tier begins where the one before it ends.
   * The last tier has no `up_to_pixels`.
   */
  up_to_pixels?: number | undefined;
  /** The price of one image. */
  price: DecimalInput;
}

/** A tier of `image_prices`. */
export interface ImagePrice extends PriceTier {
  /**
   * The price is for images of this quality only. The tiers of each quality are a list of their own. Tiers without a
   * quality are for all qualities that have no tiers.
   */
  quality?: string | undefined;
}

/**
 * Charged by the tokens that the provider reports. With `output_token_price` and `input_token_price` alone, tokens are
 * output or other tokens. Each further price is for one kind of token; a kind without a price of its own,
 * and tokens without a reported kind, have the price of output or input tokens.
 */
export interface PerTokenDetails {
  pricing_mode: "per-token";
  /** The price of a million output tokens. */
  output_token_price: DecimalInput;
  /** The price of a million of the other tokens, `total_tokens − output_tokens`. Default 0. */
  input_token_price?: DecimalInput | undefined;
  /** The price of a million tokens of the prompt. */
  input_text_token_price?: DecimalInput | undefined;
  /** The price of a million tokens of reference images. */
  input_image_token_price?: DecimalInput | undefined;
  /** The price of a million input tokens that the provider read from its cache. */
  cached_input_token_price?: DecimalInput | undefined;
  /** The price of a million tokens of images that were made. */
  output_image_token_price?: DecimalInput | undefined;
  /** The price of a million tokens of text that was made. */
  output_text_token_price?: DecimalInput | undefined;
  /** Round the charge once, half up, to this number of places (0 to 30). Default: exact. */
  decimal_places?: number | undefined;
}

/** The price of one model. The fields are spelled as in the back office of the interface. */
export type ModelDetails = PerRequestDetails | PerImageDetails | PerTokenDetails;

/** True if images have prices by size. */
export function isPerImage(details: ModelDetails): details is PerImageDetails {
  // Options may have a field that is present and undefined.
  return "image_prices" in details && details.image_prices !== undefined;
}

/** Prices and ratios. */
export interface PriceTables {
  /** Service model, or series such as `image-edit*`, to its price. An exact name wins, then the longest prefix. */
  readonly model_details: Readonly<Record<string, ModelDetails>>;
  /** Caller group to its ratio. Default `{ default: "1" }`. */
  readonly group_ratio?: Readonly<Record<string, DecimalInput>> | undefined;
}

/** The group of a caller that names none. */
export const DEFAULT_GROUP = "default";
