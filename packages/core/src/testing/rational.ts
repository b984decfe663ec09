/**
 * A number of at least 0 as a fraction of integers. Tests use it to calculate expected values without the code under
 * test.
 */
export interface Rational {
  readonly numerator: bigint;
  /** At least 1. The fraction need not be in lowest terms. */
  readonly denominator: bigint;
}

/** Reads an integer or a decimal from a string, also in the format of JavaScript numbers, such as `1.5e-7`. */
export function toRational(value: number | bigint | string): Rational {
  const match = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value));
  if (match === null) throw new TypeError(`no number: ${value}`);
  const [, whole = "", fraction = "", exponent = "0"] = match;
  const shift = Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction);
  return shift < 0
    ? { numerator: digits, denominator: 10n ** BigInt(-shift) }
    : { numerator: digits * 10n ** BigInt(shift), denominator: 1n };
}

export function add(a: Rational, b: Rational): Rational {
  return {
    numerator: a.numerator * b.denominator + b.numerator * a.denominator,
    denominator: a.denominator * b.denominator,
  };
}

export function multiply(...factors: readonly Rational[]): Rational {
  return factors.reduce((a, b) => ({
    numerator: a.numerator * b.numerator,
    denominator: a.denominator * b.denominator,
  }));
}

/** Rounds to this number of decimal places, half up. */
export function roundHalfUp({ numerator, denominator }: Rational, places: number): Rational {
  const scale = 10n ** BigInt(places);
  return {
    numerator: (2n * numerator * scale + denominator) / (2n * denominator),
    denominator: scale,
  };
}

/** Returns a negative number, 0 or a positive number, like `a − b`. */
export function compare(a: Rational, b: Rational): number {
  const [left, right] = [a.numerator * b.denominator, b.numerator * a.denominator];
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
