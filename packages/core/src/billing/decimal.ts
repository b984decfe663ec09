import { Big as SharedBig } from "big.js";
import type { DecimalInput } from "./decimal-input.js";
import { describeValue } from "./describe-value.js";

/** A constructor of our own: the settings of the shared one, such as `Big.strict`, belong to the whole app. */
const Big = SharedBig();

/** An exact decimal of at least 0. */
export type Decimal = InstanceType<typeof Big>;

const PLAIN_DECIMAL = /^\d{1,30}(?:\.\d{1,30})?$/;

/** The decimal that the input means, or `undefined` when it is negative, infinite or no plain decimal. */
export function parseDecimal(input: unknown): Decimal | undefined {
  const text = typeof input === "number" && Number.isFinite(input) ? new Big(String(input)).toFixed() : input;
  return typeof text === "string" && PLAIN_DECIMAL.test(text) ? new Big(text) : undefined;
}

/** The decimal that the input means; throws a `RangeError` that names it when it means none. */
export function toDecimal(input: DecimalInput, name: string): Decimal {
  const decimal = parseDecimal(input);
  if (decimal === undefined) {
    throw new RangeError(
      `${name} must be a decimal of at least 0, such as "0.04", not ${describeValue(input)}`,
    );
  }
  return decimal;
}

/** The plain text of any decimal that was calculated: no exponent, however many digits it has. */
export function normalizeDecimal(text: string): string {
  return new Big(text).toFixed();
}

/** The exact text of a decimal: no exponent, no digit lost. */
export function formatDecimal(decimal: Decimal): string {
  return decimal.toFixed();
}

/** One rounding, half up, to so many places; exact where no places are given. */
export function roundCharge(exact: Decimal, decimalPlaces: number | undefined): Decimal {
  return decimalPlaces === undefined ? exact : exact.round(decimalPlaces, SharedBig.roundHalfUp);
}
