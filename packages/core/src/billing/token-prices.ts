import type { DecimalInput, Usage } from "../types.js";
import {
  type CountedLine,
  countMaxTokens,
  createRounding,
  itemize,
  type Price,
  type TokenKind,
  toCount,
  toTokenPrice,
  type UnitPrice,
} from "./charge.js";
import { type Decimal, formatDecimal, isAtMost } from "./decimal.js";
import type { PerTokenDetails } from "./model-details.js";
import { TOKEN_COUNTS } from "./usage.js";

/** The options with prices for one kind of token. */
const KIND_PRICES = [
  "output_image_token_price",
  "output_text_token_price",
  "input_text_token_price",
  "input_image_token_price",
  "cached_input_token_price",
] as const;

/** True if some kind of token has a price of its own. */
export function hasKindPrices(details: PerTokenDetails): boolean {
  return KIND_PRICES.some((name) => (details[name] ?? undefined) !== undefined);
}

/** Prices by the kind of token. A kind without a price of its own has the price of output or input tokens. */
export function createTokenKindPrice(details: PerTokenDetails, ratio: Decimal): Price {
  const toUnit = (name: (typeof KIND_PRICES)[number], fallback: UnitPrice): UnitPrice =>
    readPrice(details[name] ?? undefined, name, ratio) ?? fallback;
  const output = toTokenPrice(details.output_token_price, "output_token_price", ratio);
  const input = toTokenPrice(details.input_token_price ?? "0", "input_token_price", ratio);
  const units: Readonly<Record<TokenKind, UnitPrice>> = {
    output_image_tokens: toUnit("output_image_token_price", output),
    output_text_tokens: toUnit("output_text_token_price", output),
    output_tokens: output,
    input_text_tokens: toUnit("input_text_token_price", input),
    input_image_tokens: toUnit("input_image_token_price", input),
    cached_input_tokens: toUnit("cached_input_token_price", input),
    input_tokens: input,
  };
  const dearest = findDearest(units);
  const facts = {
    pricing_mode: "per-token",
    group_ratio: formatDecimal(ratio),
    rounding: createRounding(details.decimal_places),
  } as const;
  return {
    charge({ usage = {} }) {
      const lines = countTokens(usage).map((line) => ({ ...line, unit: units[line.what] }));
      return itemize(lines, { ...facts, unpriced: !isAnyReported(usage) });
    },
    estimate(request) {
      const count = toCount(countMaxTokens(request), "the number of tokens") ?? 0;
      const line: CountedLine = { what: dearest, count, source: "request", unit: units[dearest] };
      return itemize([line], { ...facts, unpriced: false });
    },
  };
}

function readPrice(price: DecimalInput | undefined, name: string, ratio: Decimal): UnitPrice | undefined {
  return price === undefined ? undefined : toTokenPrice(price, name, ratio);
}

function findDearest(units: Readonly<Record<TokenKind, UnitPrice>>): TokenKind {
  let dearest: TokenKind = "output_tokens";
  for (const kind of KINDS) {
    if (!isAtMost(units[kind].ofOne, units[dearest].ofOne)) dearest = kind;
  }
  return dearest;
}

const KINDS = [
  "output_image_tokens",
  "output_text_tokens",
  "output_tokens",
  "input_text_tokens",
  "input_image_tokens",
  "cached_input_tokens",
  "input_tokens",
] as const satisfies readonly TokenKind[];

interface TokenCount {
  readonly what: TokenKind;
  readonly count: number;
  readonly source: CountedLine["source"];
}

/**
 * The tokens of each kind. What remains of the output tokens, and of the other tokens, is of unknown kind. A total
 * alone counts as output, except for the kinds of input that were reported with it.
 */
function countTokens(usage: Usage): readonly TokenCount[] {
  const read = (name: (typeof TOKEN_COUNTS)[number]): number | undefined =>
    toCount(usage[name], `usage.${name}`);
  const [reported, total] = [read("output_tokens"), read("total_tokens")];
  const image = read("output_image_tokens") ?? 0;
  const text = read("output_text_tokens") ?? 0;
  const prompt = read("input_text_tokens") ?? 0;
  const reference = read("input_image_tokens") ?? 0;
  const cached = read("cached_input_tokens") ?? 0;
  const knownInput = prompt + reference + cached;
  const output = Math.max(reported ?? (total === undefined ? 0 : total - knownInput), image + text);
  const input = Math.max((total ?? output) - output, knownInput);
  toCount(output + input, "the number of tokens");
  const rest = reported === undefined ? "total_tokens" : "output_tokens";
  return [
    { what: "output_image_tokens", count: image, source: "output_image_tokens" },
    { what: "output_text_tokens", count: text, source: "output_text_tokens" },
    { what: "output_tokens", count: output - image - text, source: rest },
    { what: "input_text_tokens", count: prompt, source: "input_text_tokens" },
    { what: "input_image_tokens", count: reference, source: "input_image_tokens" },
    { what: "cached_input_tokens", count: cached, source: "cached_input_tokens" },
    { what: "input_tokens", count: input - knownInput, source: "total_tokens" },
  ];
}

function isAnyReported(usage: Usage): boolean {
  return TOKEN_COUNTS.some((name) => usage[name] !== undefined);
}
