import type { Charge, ChargeInput } from "../billing/pricing.js";
import { add, compare, multiply, type Rational, roundHalfUp, toRational } from "./rational.js";

/** The billing rules once more, in fractions: the charge before rounding. */
export function expectedExact({ details, usage, group_ratio = "1" }: ChargeInput): Rational {
  const ratio = toRational(group_ratio);
  if (details.pricing_mode === "per-request") {
    return multiply(toRational(details.model_price), toRational(usage?.generated_images ?? 1), ratio);
  }
  const output = BigInt(usage?.output_tokens ?? usage?.total_tokens ?? 0);
  const total = BigInt(usage?.total_tokens ?? output);
  const other = total > output ? total - output : 0n;
  const forMillion = add(
    multiply(toRational(details.output_token_price), toRational(output)),
    multiply(toRational(details.input_token_price ?? "0"), toRational(other)),
  );
  return multiply(forMillion, { numerator: 1n, denominator: 1_000_000n }, ratio);
}

/** The charge by the same rules. */
export function expectedAmount(input: ChargeInput): Rational {
  const exact = expectedExact(input);
  const places = input.details.decimal_places;
  return places === undefined ? exact : roundHalfUp(exact, places);
}

/** The one spelling that each amount has: no sign, no exponent, no zero that says nothing. */
const PLAIN = /^(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/;

/** True when the text is the plain decimal of exactly this number. */
export function isExactly(text: string, expected: Rational): boolean {
  return PLAIN.test(text) && compare(toRational(text), expected) === 0;
}

/** True when the first charge is at most the second. */
export function isAtMost(a: Charge, b: Charge): boolean {
  return compare(toRational(a.amount), toRational(b.amount)) <= 0;
}
