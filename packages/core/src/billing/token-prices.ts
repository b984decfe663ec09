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
import { INPUT_KINDS, OUTPUT_KINDS, splitTokens, sumTokens, TOKEN_COUNTS } from "./usage.js";

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
    charge({ usage = {} }) {
      const lines = countTokens(usage).map((line) => ({ ...line, unit: units[line.what] }));
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
const KINDS_OF_OUTPUT = ["output_tokens", ...OUTPUT_KINDS] as const;
const KINDS_OF_INPUT = ["input_tokens", ...INPUT_KINDS] as const;
const KINDS = [...KINDS_OF_OUTPUT, ...KINDS_OF_INPUT] as const;

interface TokenCount {
  readonly what: TokenKind;
  readonly count: number;
  readonly source: CountedLine["source"];
}

/** The kinds in the order of the lines. */
const ALL_KINDS = [...OUTPUT_KINDS, "output_tokens", ...INPUT_KINDS, "input_tokens"] as const;

function countTokens(usage: Usage): readonly TokenCount[] {
  const tokens = splitTokens(usage);
  const { output, input } = sumTokens(tokens);
  toCount(output + input, "the number of tokens");
  const ofUnknownOutput = usage.output_tokens === undefined ? "total_tokens" : "output_tokens";
  return ALL_KINDS.map((what) => {
    const source =
      what === "output_tokens" ? ofUnknownOutput : what === "input_tokens" ? "total_tokens" : what;
    return { what, count: tokens[what], source };
  });
}

function isAnyReported(usage: Usage): boolean {
  return TOKEN_COUNTS.some((name) => usage[name] !== undefined);
}
