import {
  addDecimals,
  type Decimal,
  formatDecimal,
  multiplyDecimal,
  negateDecimal,
  readDecimal,
} from "@calotype/core/stores";
import type { ChargeDerivation } from "../../wire.js";

/** One line of a charge: `count × price × group ratio = amount`. The rounding has an amount only. */
export interface ShownLine {
  /** The name of the line in the messages. */
  readonly what: string;
  readonly quality?: string | undefined;
  /** Where the price may depend on them, the pixels of the largest image, or the most that were requested. */
  readonly size?: { readonly pixels: number; readonly isMost: boolean };
  /** The price of one, or of a million tokens. Absent: the rounding. */
  readonly counted?: { readonly count: number; readonly price: string };
  readonly amount: string;
}

/** The lines of any derivation. Their amounts add up to `amount`, which is the charge. */
export function toLines(derivation: ChargeDerivation, amount: string): readonly ShownLine[] {
  if ("lines" in derivation) {
    return derivation.lines.map((line) =>
      line.what === "rounding"
        ? line
        : {
            what: line.what,
            quality: line.quality,
            ...(line.pixels !== undefined && {
              size: { pixels: line.pixels, isMost: line.pixels_source === "request" },
            }),
            counted: { count: line.count, price: line.unit_price },
            amount: line.amount,
          },
    );
  }
  const { group_ratio, exact } = derivation;
  const difference = subtract(amount, exact);
  const rounding =
    derivation.decimal_places === undefined || difference.units === 0n
      ? []
      : [{ what: "rounding", amount: formatDecimal(difference) }];
  if (derivation.pricing_mode === "per-request") {
    const { count, model_price: price, count_source } = derivation;
    const what = count_source === "default" ? "request" : "image";
    return [{ what, counted: { count, price }, amount: exact }, ...rounding];
  }
  const { output_tokens, output_token_price, other_tokens, input_token_price } = derivation;
  const toLine = (what: string, count: number, price: string): ShownLine => ({
    what,
    counted: { count, price },
    amount: multiply(count, price, group_ratio),
  });
  return [
    toLine("output_tokens", output_tokens, output_token_price),
    ...(other_tokens === 0 ? [] : [toLine("other_tokens", other_tokens, input_token_price)]),
    ...rounding,
  ];
}

/** Whether the price of a line is for a million. */
export const isOfTokens = (what: string): boolean => what.endsWith("tokens");

/** The price of a token is for a million. */
const MILLIONTH = readDecimal("0.000001");

/** What tokens cost, with each of its digits. */
function multiply(count: number, price: string, ratio: string): string {
  const perToken = multiplyDecimal(multiplyDecimal(readDecimal(price), readDecimal(ratio)), MILLIONTH);
  return formatDecimal(multiplyDecimal(perToken, count));
}

/** What rounding has added to the exact charge, or taken from it. */
function subtract(amount: string, exact: string): Decimal {
  return addDecimals(readDecimal(amount), negateDecimal(readDecimal(exact)));
}
