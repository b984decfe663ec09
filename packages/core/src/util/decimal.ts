/**
 * An amount, a price or a ratio: a plain decimal such as `"0.075"`. A number means its shortest decimal string, so
 * `0.1` means exactly `0.1`.
 */
export type DecimalInput = string | number;

/** An exact decimal: `units / 10 ** places`. All money is calculated with it; there is no float and no rounding. */
export interface Decimal {
  readonly units: bigint;
  readonly places: number;
}

export const ZERO: Decimal = { units: 0n, places: 0 };

const ZERO_DIGIT = 0x30;
/** The code of a point, as a digit. */
const POINT = 0x2e - ZERO_DIGIT;
/** The powers of ten up to 10^64 that were used, by their exponent. */
const powers: bigint[] = [];

const DECIMAL = /^(-?\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/;

/** What operators may write as a price, a ratio or a budget. */
const PLAIN_DECIMAL = /^\d{1,30}(?:\.\d{1,30})?$/;

/**
 * Reads an amount of a hold, a record or a balance. `null` is 0.
 *
 * @throws RangeError if the string is not a decimal
 */
export function readDecimal(string: string | null): Decimal {
  if (string === null) return ZERO;
  const short = string.length <= MAX_SHORT ? readShort(string) : undefined;
  if (short !== undefined) return short;
  const match = DECIMAL.exec(string);
  if (match === null) throw new RangeError(`${describeValue(string)} is not a decimal`);
  const [, whole = "", fraction = "", exponent = "0"] = match;
  const places = fraction.length - Number(exponent);
  const units = BigInt(whole + fraction);
  return places < 0 ? { units: units * 10n ** BigInt(-places), places: 0 } : { units, places };
}

/** So many digits are an exact number. */
const MAX_SHORT = 15;

/** Reads a short decimal without a sign and an exponent: without the long way, because each request has several. */
function readShort(string: string): Decimal | undefined {
  let units = 0;
  let point = -1;
  for (let at = 0; at < string.length; at++) {
    const digit = string.charCodeAt(at) - ZERO_DIGIT;
    if (digit >= 0 && digit <= 9) units = units * 10 + digit;
    else if (digit === POINT && point < 0) point = at;
    else return undefined;
  }
  const end = string.length - 1;
  return point === 0 || point === end
    ? undefined
    : { units: BigInt(units), places: point < 0 ? 0 : end - point };
}

/** Returns the decimal that an option means, or `undefined` if it is negative, infinite or not a plain decimal. */
export function parseDecimal(input: unknown): Decimal | undefined {
  // The shortest string of a number may have an exponent.
  const string =
    typeof input === "number" && Number.isFinite(input) ? formatDecimal(readDecimal(String(input))) : input;
  return typeof string === "string" && PLAIN_DECIMAL.test(string) ? readDecimal(string) : undefined;
}

/**
 * Returns the decimal that an option means.
 *
 * @throws RangeError that names the option
 */
export function toDecimal(input: DecimalInput, name: string): Decimal {
  const decimal = parseDecimal(input);
  if (decimal !== undefined) return decimal;
  throw new RangeError(
    `${name} must be a decimal of at least 0, such as "0.04", not ${describeValue(input)}`,
  );
}

/**
 * The string of the decimal that an option means. A plain decimal stays as it is written.
 *
 * @throws RangeError that names the option
 */
export function toDecimalString(input: DecimalInput, name: string): string {
  const string = String(input);
  return PLAIN_DECIMAL.test(string) ? string : formatDecimal(toDecimal(input, name));
}

/** The decimal as a string: no exponent, no digit lost, no zero at the end of a fraction. */
export function formatDecimal({ units, places }: Decimal): string {
  const digits = String(units < 0n ? -units : units).padStart(places + 1, "0");
  const point = digits.length - places;
  let end = digits.length;
  while (end > point && digits.charCodeAt(end - 1) === ZERO_DIGIT) end--;
  const fraction = end > point ? `.${digits.slice(point, end)}` : "";
  return `${units < 0n ? "-" : ""}${digits.slice(0, point)}${fraction}`;
}

export function addDecimals(one: Decimal, other: Decimal): Decimal {
  const places = Math.max(one.places, other.places);
  return { units: unitsAt(one, places) + unitsAt(other, places), places };
}

export function negateDecimal({ units, places }: Decimal): Decimal {
  return { units: -units, places };
}

export function subtractDecimal(from: Decimal, decimal: Decimal): Decimal {
  return addDecimals(from, negateDecimal(decimal));
}

/** The other factor may be a whole number, such as a count of images. */
export function multiplyDecimal(one: Decimal, other: Decimal | number): Decimal {
  const { units, places } = typeof other === "number" ? { units: BigInt(other), places: 0 } : other;
  return { units: one.units * units, places: one.places + places };
}

export function isAtMost(decimal: Decimal, bound: Decimal): boolean {
  const places = Math.max(decimal.places, bound.places);
  return unitsAt(decimal, places) <= unitsAt(bound, places);
}

/** Negative if the first one is smaller, positive if it is larger. */
export function compareDecimals(one: Decimal, other: Decimal): number {
  if (!isAtMost(one, other)) return 1;
  return isAtMost(other, one) ? 0 : -1;
}

/** Rounds a decimal of at least 0 half up to a number of places. */
export function roundDecimal(decimal: Decimal, places: number): Decimal {
  if (decimal.places <= places) return decimal;
  const divisor = powerOfTen(decimal.places - places);
  return { units: (decimal.units + divisor / 2n) / divisor, places };
}

/** Describes a refused value in an error message: short, and without running code of the value. */
export function describeValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (typeof value === "object") return value === null ? "null" : "an object";
  const isShort = typeof value === "number" || typeof value === "boolean" || value === undefined;
  return isShort ? String(value) : `a ${typeof value}`;
}

/** The units of the decimal at a number of places that is not below its own. */
function unitsAt({ units, places }: Decimal, atPlaces: number): bigint {
  return places === atPlaces ? units : units * powerOfTen(atPlaces - places);
}

function powerOfTen(exponent: number): bigint {
  return exponent > 64 ? 10n ** BigInt(exponent) : (powers[exponent] ??= 10n ** BigInt(exponent));
}
