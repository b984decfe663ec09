import type { DecimalInput, Usage } from "../types.js";
import { type Decimal, formatDecimal, isAtMost } from "../util/decimal.js";
import {
  type CountedLine,
  countMaxTokens,
  createRounding,
  itemize,
  type MaxTokens,
  type Price,
  type TokenKind,
  toCount,
  toTokenPrice,
  type UnitPrice,
} from "./charge.js";
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
  const dearest = findDearest(KINDS, units);
  const dearestOutput = findDearest(KINDS_OF_OUTPUT, units);
  const dearestInput = findDearest(KINDS_OF_INPUT, units);
  const facts = {
    pricing_mode: "per-token",
    group_ratio: formatDecimal(ratio),
    rounding: createRounding(details.decimal_places),
  } as const;
  return {
    charge({ usage = {}, reports = [usage] }) {
      const counts = addCounts(reports.map(countTokens));
      const lines = counts.map((line) => ({ ...line, unit: units[line.what] }));
      return itemize(lines, { ...facts, unpriced: !isAnyReported(usage) });
    },
    estimate(request) {
      const most = countMaxTokens(request);
      toCount(most.all, "the number of tokens");
      const lines = listMost(most, { dearest, dearestOutput, dearestInput }).map(
        ([what, count]) => ({ what, count, source: "request", unit: units[what] }) as const,
      );
      return itemize(lines, { ...facts, unpriced: false });
    },
  };
}

/** The most tokens of a request, at the highest price of what they can be. */
function listMost(
  { all, output, text = 0, input }: MaxTokens,
  dearest: Readonly<Record<"dearest" | "dearestOutput" | "dearestInput", TokenKind>>,
): readonly (readonly [TokenKind, number])[] {
  if (output === undefined || input === undefined) return [[dearest.dearest, all]];
  const ofText = text > 0 ? [["output_text_tokens", text] as const] : [];
  return [[dearest.dearestOutput, output - text], ...ofText, [dearest.dearestInput, input]];
}

function readPrice(price: DecimalInput | undefined, name: string, ratio: Decimal): UnitPrice | undefined {
  return price === undefined ? undefined : toTokenPrice(price, name, ratio);
}

function findDearest(
  [first, ...others]: readonly [TokenKind, ...TokenKind[]],
  units: Readonly<Record<TokenKind, UnitPrice>>,
): TokenKind {
  let dearest = first;
  for (const kind of others) {
    if (!isAtMost(units[kind].ofOne, units[dearest].ofOne)) dearest = kind;
  }
  return dearest;
}

/** Of kinds with the same price, the first one is named. */
const KINDS_OF_OUTPUT = ["output_tokens", "output_image_tokens", "output_text_tokens"] as const;
const KINDS_OF_INPUT = [
  "input_tokens",
  "input_text_tokens",
  "input_image_tokens",
  "cached_input_tokens",
] as const;
const KINDS = [...KINDS_OF_OUTPUT, ...KINDS_OF_INPUT] as const;

/** Adds the counts of several reports, kind by kind. */
function addCounts([first = [], ...others]: readonly (readonly TokenCount[])[]): readonly TokenCount[] {
  if (others.length === 0) return first;
  return first.map((line, at) => {
    const lines = [line, ...others.flatMap((other) => other[at] ?? [])];
    const { source } = lines.find(({ count }) => count > 0) ?? line;
    return { ...line, source, count: lines.reduce((sum, { count }) => sum + count, 0) };
  });
}

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
