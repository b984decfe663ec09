import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyDecimal } from "../testing/any-charge.js";
import { add, compare, type Rational, toRational } from "../testing/rational.js";
import { addAmounts, formatAmount, isAtMost, NOTHING, readAmount, subtractAmount } from "./amount.js";

const refute = <Values>(property: fc.IProperty<Values>): string | undefined =>
  fc.defaultReportMessage(fc.check(property, { numRuns: 5_000, seed: 20_261_121 }));

/** An exact charge has the places of a price, of a ratio and of a million together. */
const anyPlaces = fc.stringMatching(/^\d{1,66}$/).map((fraction) => `0.${fraction}`);
const anyAmount = fc.oneof(anyDecimal, anyPlaces);

const sumOf = (texts: readonly string[]) =>
  texts.reduce((sum, text) => addAmounts(sum, readAmount(text)), NOTHING);

const isExactly = (text: string, value: Rational): boolean => compare(toRational(text), value) === 0;

describe("amounts, against arithmetic with fractions", () => {
  const anyAmounts = fc.array(anyAmount, { maxLength: 6 });

  it("add up exactly, however many places each has", () => {
    const property = fc.property(anyAmounts, (texts) =>
      isExactly(formatAmount(sumOf(texts)), texts.map(toRational).reduce(add, toRational(0))),
    );
    expect(refute(property)).toBeUndefined();
  });

  it("are what they were when what was added is subtracted again, in any order", () => {
    const property = fc.property(anyAmounts, anyAmounts, (kept, ended) => {
      const sum = sumOf([...ended, ...kept]);
      const rest = ended.reduce((left, text) => subtractAmount(left, readAmount(text)), sum);
      return formatAmount(rest) === formatAmount(sumOf(kept));
    });
    expect(refute(property)).toBeUndefined();
  });

  it("are compared by what they mean", () => {
    const anyPair = fc.oneof(
      fc.tuple(anyAmount, anyAmount),
      anyAmount.map((text) => [text, text.includes(".") ? `0${text}0` : `${text}.000`] as const),
      anyPlaces.map((text) => [text, `${text}1`] as const),
    );
    const property = fc.property(anyPair, ([one, other]) => {
      const order = compare(toRational(one), toRational(other));
      return (
        isAtMost(readAmount(one), readAmount(other)) === order <= 0 &&
        isAtMost(readAmount(other), readAmount(one)) === order >= 0
      );
    });
    expect(refute(property)).toBeUndefined();
  });

  it("have one text each, without an exponent and without zeros that mean nothing", () => {
    const property = fc.property(anyAmount, (text) => {
      const formatted = formatAmount(readAmount(text));
      return /^(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/.test(formatted) && isExactly(formatted, toRational(text));
    });
    expect(refute(property)).toBeUndefined();
  });
});

describe("an amount", () => {
  it.each([
    ["0", "0"],
    ["007.50", "7.5"],
    ["1e3", "1000"],
    ["1.5e-13", "0.00000000000015"],
    ["-0.5", "-0.5"],
    ["-0", "0"],
  ])("of %s is written %s", (text, formatted) => {
    expect(formatAmount(readAmount(text))).toBe(formatted);
  });

  it("of null is 0", () => {
    expect(formatAmount(readAmount(null))).toBe("0");
  });

  it("may be less than 0, as a difference", () => {
    const difference = subtractAmount(readAmount("0.25"), readAmount("1.5"));
    expect(formatAmount(difference)).toBe("-1.25");
    expect(isAtMost(difference, NOTHING)).toBe(true);
  });

  it.each(["", "much", "NaN", "0x10", "1.2.3", "1 000"])("cannot be %j, whenever it is asked for", (text) => {
    expect(() => readAmount(text)).toThrow(/Invalid number/);
    expect(() => readAmount(text)).toThrow(/Invalid number/);
  });
});
