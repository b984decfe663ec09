import type { ChargeDerivation } from "../../wire.js";

/** One line of a charge: `count × price × group ratio = amount`. The rounding has an amount only. */
export interface ShownLine {
  /** The name of the line in the messages. */
  readonly what: string;
  readonly quality?: string | undefined;
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
            counted: { count: line.count, price: line.unit_price },
            amount: line.amount,
          },
    );
  }
  const { group_ratio, exact } = derivation;
  const rounding =
    derivation.decimal_places === undefined || isEqual(exact, amount)
      ? []
      : [{ what: "rounding", amount: subtract(amount, exact) }];
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

/** The price of a token is for a million. */
export const isOfTokens = (what: string): boolean => what.endsWith("tokens");

/** A decimal number: `digits ÷ 10^places`. */
interface Decimal {
  readonly digits: bigint;
  readonly places: number;
}

const MILLION_PLACES = 6;

/** What tokens cost, with each of its digits. */
function multiply(count: number, price: string, ratio: string): string {
  const [one, other] = [readDecimal(price), readDecimal(ratio)];
  const digits = BigInt(count) * one.digits * other.digits;
  return write({ digits, places: one.places + other.places + MILLION_PLACES });
}

function subtract(from: string, amount: string): string {
  const [one, other] = align(from, amount);
  return write({ digits: one.digits - other.digits, places: one.places });
}

function isEqual(amount: string, other: string): boolean {
  const [one, two] = align(amount, other);
  return one.digits === two.digits;
}

/** Two amounts with the same number of places. */
function align(...amounts: readonly [string, string]): readonly [Decimal, Decimal] {
  const [one, other] = [readDecimal(amounts[0]), readDecimal(amounts[1])];
  const places = Math.max(one.places, other.places);
  const widen = (decimal: Decimal): Decimal => ({
    digits: decimal.digits * 10n ** BigInt(places - decimal.places),
    places,
  });
  return [widen(one), widen(other)];
}

/** Reads a decimal string of the server, which has no exponent. */
function readDecimal(text: string): Decimal {
  const [whole = "0", fraction = ""] = text.split(".");
  return { digits: BigInt(whole + fraction), places: fraction.length };
}

function write({ digits, places }: Decimal): string {
  const sign = digits < 0n ? "-" : "";
  const padded = String(digits < 0n ? -digits : digits).padStart(places + 1, "0");
  const [whole, fraction] = [
    padded.slice(0, padded.length - places),
    padded.slice(padded.length - places).replace(/0+$/, ""),
  ];
  return `${sign}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}
