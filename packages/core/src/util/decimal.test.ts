import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyDecimal } from "../testing/any-charge.js";
import { add, compare, type Rational, toRational } from "../testing/rational.js";
import {
  addDecimals,
  formatDecimal,
  isAtMost,
  readDecimal,
  roundDecimal,
  subtractDecimal,
  ZERO,
} from "./decimal.js";

const refute = <Values>(property: fc.IProperty<Values>): string | undefined =>
  fc.defaultReportMessage(fc.check(property, { numRuns: 5_000 }));

/** An exact charge has the places of a price, of a ratio and of a million together. */
const anyPlaces = fc.stringMatching(/^\d{1,66}$/).map((fraction) => `0.${fraction}`);
const anyAmount = fc.oneof(anyDecimal, anyPlaces);

const sumOf = (texts: readonly string[]) =>
  texts.reduce((sum, text) => addDecimals(sum, readDecimal(text)), ZERO);

const isExactly = (text: string, value: Rational): boolean => compare(toRational(text), value) === 0;

describe("decimals, compared with arithmetic with fractions", () => {
  const anyAmounts = fc.array(anyAmount, { maxLength: 6 });

  it("add up exactly, however many places each has", () => {
    const property = fc.property(anyAmounts, (texts) =>
      isExactly(formatDecimal(sumOf(texts)), texts.map(toRational).reduce(add, toRational(0))),
    );
    expect(refute(property)).toBeUndefined();
  });

  it("are the same after a sum is added and subtracted again, in any order", () => {
    const property = fc.property(anyAmounts, anyAmounts, (kept, ended) => {
      const sum = sumOf([...ended, ...kept]);
      const rest = ended.reduce((left, text) => subtractDecimal(left, readDecimal(text)), sum);
      return formatDecimal(rest) === formatDecimal(sumOf(kept));
    });
    expect(refute(property)).toBeUndefined();
  });

  it("are compared by value", () => {
    const anyPair = fc.oneof(
      fc.tuple(anyAmount, anyAmount),
      anyAmount.map((text) => [text, text.includes(".") ? `0${text}0` : `${text}.000`] as const),
      anyPlaces.map((text) => [text, `${text}1`] as const),
    );
    const property = fc.property(anyPair, ([one, other]) => {
      const order = compare(toRational(one), toRational(other));
      return (
        isAtMost(readDecimal(one), readDecimal(other)) === order <= 0 &&
        isAtMost(readDecimal(other), readDecimal(one)) === order >= 0
      );
    });
    expect(refute(property)).toBeUndefined();
  });

  it("are written without an exponent and without superfluous zeros", () => {
    const property = fc.property(anyAmount, (text) => {
      const formatted = formatDecimal(readDecimal(text));
      return /^(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/.test(formatted) && isExactly(formatted, toRational(text));
    });
    expect(refute(property)).toBeUndefined();
  });
});

describe("a decimal", () => {
  it.each([
    ["0", "0"],
    ["007.50", "7.5"],
    ["1e+21", "1000000000000000000000"],
    ["1.5e-13", "0.00000000000015"],
    ["-0.5", "-0.5"],
    ["-0", "0"],
  ])("of %s is written %s", (text, formatted) => {
    expect(formatDecimal(readDecimal(text))).toBe(formatted);
  });

  it("of null is 0", () => {
    expect(formatDecimal(readDecimal(null))).toBe("0");
  });

  it("may be less than 0, as a difference", () => {
    const difference = subtractDecimal(readDecimal("0.25"), readDecimal("1.5"));
    expect(formatDecimal(difference)).toBe("-1.25");
    expect(isAtMost(difference, ZERO)).toBe(true);
  });

  it.each(["", "much", "NaN", "0x10", "1.2.3", "1 000", ".5", "5."])("cannot be %j", (string) => {
    expect(() => readDecimal(string)).toThrow(RangeError);
  });

  it.each([
    ["0.045", 2, "0.05"],
    ["0.044999", 2, "0.04"],
    ["0.5", 0, "1"],
    ["1.25", 5, "1.25"],
  ])("%s is rounded half up to %d places: %s", (string, places, rounded) => {
    expect(formatDecimal(roundDecimal(readDecimal(string), places))).toBe(rounded);
  });
});
