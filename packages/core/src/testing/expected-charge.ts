import type { Charge } from "../billing/charge.js";
import type { ModelDetails, PerImageDetails, PerTokenDetails } from "../billing/model-details.js";
import type { ChargeInput } from "../billing/pricing.js";
import type { DecimalInput, MadeImage, Usage } from "../types.js";
import { add, compare, multiply, type Rational, roundHalfUp, toRational } from "./rational.js";

/** The billing rules once more, in fractions: the charge before rounding. */
export function expectedExact(input: ChargeInput): Rational {
  const ratio = toRational(input.group_ratio ?? "1");
  return multiply(expectedPrice(input.details, input), ratio);
}

function expectedPrice(details: ModelDetails, input: ChargeInput): Rational {
  const { usage } = input;
  if (details.pricing_mode === "per-token") return expectedOfTokens(details, usage ?? {});
  if ("image_prices" in details) return expectedOfImages(details, input);
  return multiply(toRational(details.model_price), toRational(usage?.generated_images ?? 1));
}

const ZERO = toRational(0);
const sum = (values: readonly Rational[]): Rational => values.reduce(add, ZERO);

/** Each kind of token at its price; what is left of the output and of the input at the general prices. */
function expectedOfTokens(details: PerTokenDetails, usage: Usage): Rational {
  const general = { output: details.output_token_price, input: details.input_token_price ?? "0" };
  const kinds: readonly (readonly ["output" | "input", number | undefined, DecimalInput | undefined])[] = [
    ["output", usage.output_image_tokens, details.output_image_token_price],
    ["output", usage.output_text_tokens, details.output_text_token_price],
    ["input", usage.input_text_tokens, details.input_text_token_price],
    ["input", usage.input_image_tokens, details.input_image_token_price],
    ["input", usage.cached_input_tokens, details.cached_input_token_price],
  ];
  const known = (side: "output" | "input"): bigint =>
    kinds.reduce((all, [ofSide, count = 0]) => all + (ofSide === side ? BigInt(count) : 0n), 0n);
  const { output_tokens, total_tokens } = usage;
  const totalOutput = total_tokens === undefined ? 0n : BigInt(total_tokens) - known("input");
  const output = largest(output_tokens === undefined ? totalOutput : BigInt(output_tokens), known("output"));
  const input = largest(total_tokens === undefined ? 0n : BigInt(total_tokens) - output, known("input"));
  const ofKinds = kinds.map(([side, count = 0, price = general[side]]) =>
    multiply(toRational(price), toRational(count)),
  );
  const rest = [
    multiply(toRational(general.output), toRational(output - known("output"))),
    multiply(toRational(general.input), toRational(input - known("input"))),
  ];
  return multiply(sum([...ofKinds, ...rest]), { numerator: 1n, denominator: 1_000_000n });
}

const largest = (one: bigint, other: bigint): bigint => (one > other ? one : other);

/** Each image at the highest price that it can have; of too many images the dearest. */
function expectedOfImages(
  details: PerImageDetails,
  { usage, images = [], reference_images = 0, requested_size }: ChargeInput,
): Rational {
  const most = requested_size === undefined ? undefined : toPixels(requested_size);
  const priceOf = (image: MadeImage): Rational => expectedOfImage(details, image, most);
  const prices = images.map(priceOf).toSorted(compare).toReversed();
  const bases = images.filter((image) => image.isLayer !== true).length;
  const reported = usage?.generated_images;
  const isWithoutLayers = reported === bases && bases > 0;
  const count = reported === undefined || isWithoutLayers ? Math.max(prices.length, 1) : reported;
  const unknown = multiply(priceOf({}), toRational(Math.max(0, count - prices.length)));
  const billed = Math.max(0, reference_images - (details.free_reference_images ?? 0));
  const references = multiply(toRational(details.reference_image_price ?? "0"), toRational(billed));
  return sum([...prices.slice(0, count), unknown, ...(count > 0 ? [references] : [])]);
}

function expectedOfImage(
  { image_prices, layer_price }: PerImageDetails,
  { size = "", quality, isLayer = false }: MadeImage,
  most = Number.MAX_SAFE_INTEGER,
): Rational {
  const isList = (price: typeof layer_price): price is Exclude<typeof price, DecimalInput | undefined> =>
    Array.isArray(price);
  const own = isList(layer_price) ? layer_price : layer_price !== undefined && [{ price: layer_price }];
  const tiers: PerImageDetails["image_prices"] = (isLayer && own) || image_prices;
  const made = toPixels(size);
  const [from, to] = made === undefined ? [1, most] : [Math.min(made, most), Math.min(made, most)];
  const qualities = new Set(tiers.map((tier) => tier.quality));
  const found = [quality, undefined].find((name) => qualities.has(name));
  const isAnyOf = quality === undefined || !qualities.has(found);
  const prices = tiers.flatMap((tier, at) => {
    if (!isAnyOf && tier.quality !== found) return [];
    const before = tiers.slice(0, at).findLast((other) => other.quality === tier.quality);
    const start = (before?.up_to_pixels ?? 0) + 1;
    const isReached = start <= to && from <= (tier.up_to_pixels ?? Number.POSITIVE_INFINITY);
    return isReached ? [toRational(tier.price)] : [];
  });
  return prices.reduce((highest, price) => (compare(price, highest) > 0 ? price : highest), ZERO);
}

function toPixels(size: string): number | undefined {
  const match = /^([1-9]\d*)[x*]([1-9]\d*)$/.exec(size);
  return match === null ? undefined : Number(match[1]) * Number(match[2]);
}

/** The charge by the same rules. */
export function expectedAmount(input: ChargeInput): Rational {
  const exact = expectedExact(input);
  const places = input.details.decimal_places;
  return places === undefined ? exact : roundHalfUp(exact, places);
}

/** The sum of the lines of a charge by dimension. The rounding may be below 0. */
export function sumLines({ derivation }: Charge): Rational {
  if (!("lines" in derivation)) throw new TypeError("the charge has no lines");
  return sum(
    derivation.lines.map(({ amount }) => {
      const { numerator, denominator } = toRational(amount.replace(/^-/, ""));
      return { numerator: amount.startsWith("-") ? -numerator : numerator, denominator };
    }),
  );
}

/** The one spelling that each amount has: no sign, no exponent, no zero that says nothing. */
const PLAIN = /^(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/;

/** True when the text is the plain decimal of exactly this number. */
export function isExactly(text: string, expected: Rational): boolean {
  return PLAIN.test(text) && compare(toRational(text), expected) === 0;
}
