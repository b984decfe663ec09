import type { ImageRequest, MadeImage, Usage } from "../types.js";
import {
  addDecimals,
  type Decimal,
  describeValue,
  formatDecimal,
  multiplyDecimal,
  roundDecimal,
  subtractDecimal,
  toDecimal,
  ZERO,
} from "../util/decimal.js";
import type { Writable } from "../util/writable.js";

/** The price of one model for one group of callers. The strings of the options were parsed once. */
export interface Price {
  /** The charge for what a provider reported. */
  charge(report: ChargeReport): Charge;
  /** The most that a request can cost, before it is sent. */
  estimate(request: RequestBounds): Charge;
}

/** What is charged: what the provider reported, and what its response holds. */
export interface ChargeReport {
  /** `undefined` if the provider reported nothing. */
  readonly usage: Usage | undefined;
  /** The images that the response holds, in order. Default: none is known. */
  readonly images?: readonly MadeImage[] | undefined;
  /** What was requested. It is used where the response says nothing. */
  readonly request?: Partial<RequestBounds> | undefined;
  /** How many calls of the provider made an image. Reference images are charged for each. Default 1. */
  readonly callsWithImages?: number | undefined;
}

/** What a request can make at most. A request that a family understood is one. */
export interface RequestBounds {
  /** The most images, at least 1, layers included. */
  readonly maxImages: number;
  /** The most pixels of one image, width × height. Default: unknown; tokens are then bounded by 16,777,216 pixels. */
  readonly maxPixels?: number | undefined;
  /**
   * The most tokens for each image: of all kinds, or only of output if there is `maxInputTokens`. Default: one for each 256
   * pixels.
   */
  readonly maxTokensPerImage?: number | undefined;
  /** Of `maxTokensPerImage`, how many can be text, if there is `maxInputTokens`. The others are of images. Default: all. */
  readonly maxTextTokensPerImage?: number | undefined;
  /** The most input tokens of each call of the provider. Default: the input is part of `maxTokensPerImage`. */
  readonly maxInputTokens?: number | undefined;
  /** How many of the images can be layers. Default 0. */
  readonly maxLayers?: number | undefined;
  /** The reference images of the request. Default 0. */
  readonly referenceImages?: number | undefined;
  /** The quality that was asked for. Absent: the provider chooses. */
  readonly quality?: string | undefined;
  /** The most calls of the provider that the request can need. Reference images count in each. Default 1. */
  readonly upstreamCalls?: number | undefined;
}

/** Returns what a request can make at most. */
export function toRequestBounds(request: ImageRequest): RequestBounds {
  const { maxImages, maxPixels, maxTokensPerImage, maxTextTokensPerImage, maxInputTokens } = request;
  const { maxLayers, quality, upstreamCalls } = request;
  const bounds: Writable<RequestBounds> = { maxImages, referenceImages: request.images.length };
  if (maxPixels !== undefined) bounds.maxPixels = maxPixels;
  if (maxTokensPerImage !== undefined) bounds.maxTokensPerImage = maxTokensPerImage;
  if (maxTextTokensPerImage !== undefined) bounds.maxTextTokensPerImage = maxTextTokensPerImage;
  if (maxInputTokens !== undefined) bounds.maxInputTokens = maxInputTokens;
  if (maxLayers !== undefined) bounds.maxLayers = maxLayers;
  if (quality !== undefined) bounds.quality = quality;
  if (upstreamCalls !== undefined) bounds.upstreamCalls = upstreamCalls;
  return bounds;
}

/** A charge and how it came about. */
export interface Charge {
  /** A decimal string of at least 0, exact unless `decimal_places` asked for a rounding. */
  readonly amount: string;
  /** Every number that the charge was computed from, for an invoice. */
  readonly derivation: ChargeDerivation;
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
  /** `total_tokens − output_tokens`, or the reported kinds of input. 0 where neither was reported. */
  readonly other_tokens: number;
  /**
   * Where `output_tokens` came from. `output_tokens`: the provider reported them. `total_tokens`: it reported the total
   * alone, which counts as output, except for reported kinds of input. `none`: it reported neither. `request`: an estimate, by the most pixels that
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

/**
 * How a charge with prices by dimension came about: line by line. The sum of the amounts is the charge.
 */
export interface ItemizedDerivation {
  readonly pricing_mode: "per-request" | "per-token";
  /** One line for each price that applied. With `decimal_places`, the last line is the rounding. */
  readonly lines: readonly (ChargeLine | RoundingLine)[];
  readonly group_ratio: string;
  /** The charge before rounding. */
  readonly exact: string;
  /** The places that it was rounded to, half up. Absent: it was not rounded, and the charge is `exact`. */
  readonly decimal_places?: number;
  /** True if tokens have a price and the provider reported none, so that nothing could be charged. */
  readonly unpriced?: boolean;
}

/** `count × unit_price × group_ratio = amount`; for tokens, the price is for a million. */
export interface ChargeLine {
  readonly what: "image" | "layer" | "reference_image" | TokenKind;
  readonly count: number;
  /**
   * Where the count came from: the field of `usage` that the provider reported; `images`, the images in the response;
   * `request`, what was asked for; `default`, one image because nothing else is known.
   */
  readonly source: "generated_images" | "images" | "request" | "default" | TokenSource;
  /** Of images and layers: the pixels of the largest one. Absent: unknown, and the highest price applies. */
  readonly pixels?: number;
  /** Where `pixels` came from. `request`: the most that was asked for, because the response does not say, or has more. */
  readonly pixels_source?: "response" | "request";
  /** The quality, if the price depends on it and the request or the response stated it. */
  readonly quality?: string;
  /** The price of one image, or of a million tokens. */
  readonly unit_price: string;
  /** A decimal string, with `group_ratio`. */
  readonly amount: string;
}

/** What the rounding of the sum added, or took away. */
export interface RoundingLine {
  readonly what: "rounding";
  /** A decimal string; negative if the sum was rounded down. */
  readonly amount: string;
}

/** The kinds of tokens, in the order of the lines. `output_tokens` and `input_tokens` are those of unknown kind. */
export type TokenKind =
  | "output_image_tokens"
  | "output_text_tokens"
  | "output_tokens"
  | "input_text_tokens"
  | "input_image_tokens"
  | "cached_input_tokens"
  | "input_tokens";

type TokenSource = Exclude<TokenKind, "input_tokens"> | "total_tokens";

/** Every number that entered a charge, so that a test or an invoice can show why. */
export type ChargeDerivation = PerRequestDerivation | PerTokenDerivation | ItemizedDerivation;

/** A price of the options: as the derivation shows it, and what one image or token costs with the group's ratio. */
export interface UnitPrice {
  readonly price: string;
  readonly ofOne: Decimal;
}

const MILLIONTH: Decimal = { units: 1n, places: 6 };

/** @throws RangeError that names the option */
export function toUnitPrice(input: Parameters<typeof toDecimal>[0], name: string, ratio: Decimal): UnitPrice {
  const price = toDecimal(input, name);
  return { price: formatDecimal(price), ofOne: multiplyDecimal(price, ratio) };
}

/** The price of a million tokens. */
export function toTokenPrice(
  input: Parameters<typeof toDecimal>[0],
  name: string,
  ratio: Decimal,
): UnitPrice {
  const { price, ofOne } = toUnitPrice(input, name, ratio);
  return { price, ofOne: multiplyDecimal(ofOne, MILLIONTH) };
}

/** The sum of a charge. */
interface Sum {
  readonly amount: string;
  /** The last fields of a derivation. */
  readonly shown: Pick<ItemizedDerivation, "exact" | "decimal_places">;
}

/** Rounds sums as `decimal_places` says. */
export interface Rounding {
  readonly decimal_places: number | undefined;
  sum(exact: Decimal): Sum;
}

/** @throws RangeError if `decimal_places` is not usable */
export function createRounding(decimal_places: number | undefined): Rounding {
  if (decimal_places === undefined) {
    return {
      decimal_places,
      sum(exact) {
        const amount = formatDecimal(exact);
        return { amount, shown: { exact: amount } };
      },
    };
  }
  if (!(Number.isInteger(decimal_places) && decimal_places >= 0 && decimal_places <= 30)) {
    throw new RangeError(
      `decimal_places must be a whole number from 0 to 30, not ${describeValue(decimal_places)}`,
    );
  }
  return {
    decimal_places,
    sum: (exact) => ({
      amount: formatDecimal(roundDecimal(exact, decimal_places)),
      shown: { exact: formatDecimal(exact), decimal_places },
    }),
  };
}

/** A line before its amount is computed. */
export interface CountedLine extends Omit<ChargeLine, "unit_price" | "amount"> {
  readonly unit: UnitPrice;
}

/** Adds up lines. Lines that count nothing are left out. */
export function itemize(
  lines: readonly CountedLine[],
  {
    rounding,
    ...facts
  }: Pick<ItemizedDerivation, "pricing_mode" | "group_ratio" | "unpriced"> & {
    readonly rounding: Rounding;
  },
): Charge {
  let sum = ZERO;
  const counted: (ChargeLine | RoundingLine)[] = [];
  for (const { unit, ...line } of lines) {
    if (line.count === 0) continue;
    const amount = multiplyDecimal(unit.ofOne, line.count);
    sum = addDecimals(sum, amount);
    counted.push({ ...line, unit_price: unit.price, amount: formatDecimal(amount) });
  }
  const { amount, shown } = rounding.sum(sum);
  if (rounding.decimal_places !== undefined) {
    const rounded = subtractDecimal(roundDecimal(sum, rounding.decimal_places), sum);
    counted.push({ what: "rounding", amount: formatDecimal(rounded) });
  }
  return { amount, derivation: { ...facts, lines: counted, ...shown } };
}

/**
 * Returns a count that a provider reported.
 *
 * @throws RangeError if it is not a whole number of at least 0
 */
export function toCount(value: number | undefined, name: string): number | undefined {
  if (value !== undefined && !(Number.isSafeInteger(value) && value >= 0)) {
    throw new RangeError(`${name} must be a whole number of at least 0, not ${describeValue(value)}`);
  }
  return value;
}

/** The pixels of an image, and those of one token, where nothing states them. Defaults of the public interface: they stay. */
const DEFAULT_PIXELS = 16_777_216;
const DEFAULT_PIXELS_PER_TOKEN = 256;

/** The most tokens that a request can be charged for. */
export interface MaxTokens {
  readonly all: number;
  /** Those of output. Absent: any of them may be output. */
  readonly output?: number;
  /** Those of output that can be text. Absent: all of them. */
  readonly text?: number;
  /** Those of input. Absent: any of them may be input. */
  readonly input?: number;
}

/** Returns the most tokens that a request can be charged for. */
export function countMaxTokens({
  maxImages,
  maxPixels = DEFAULT_PIXELS,
  maxTokensPerImage = Math.ceil(maxPixels / DEFAULT_PIXELS_PER_TOKEN),
  maxTextTokensPerImage,
  maxInputTokens,
  upstreamCalls = 1,
}: RequestBounds): MaxTokens {
  const ofImages = maxImages * maxTokensPerImage;
  if (maxInputTokens === undefined) return { all: ofImages };
  const input = maxInputTokens * upstreamCalls;
  const text = maxTextTokensPerImage && Math.min(ofImages, maxImages * maxTextTokensPerImage);
  return { all: ofImages + input, output: ofImages, ...(text !== undefined && { text }), input };
}
