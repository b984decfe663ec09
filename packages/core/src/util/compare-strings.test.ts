import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareStrings } from "./compare-strings.js";

const encoder = new TextEncoder();
const compareBytes = (one: string, other: string): number =>
  Buffer.compare(encoder.encode(one), encoder.encode(other));

describe("the order of strings", () => {
  it.each([
    ["", "a"],
    ["10", "9"],
    ["Z", "a"],
    ["z", "é"],
    ["\ufffd", "😀"],
    ["😀", "😁"],
    ["a😀", "a😀a"],
  ])("has %j before %j", (one, other) => {
    expect(compareStrings(one, other)).toBeLessThan(0);
    expect(compareStrings(other, one)).toBeGreaterThan(0);
    expect(compareStrings(one, one)).toBe(0);
  });

  it("is that of their bytes in UTF-8", () => {
    const unit = fc.constantFrom("a", "b", "é", "\ud7ff", "\ue000", "\ufffd", "😀", "𝄞", "\u{10ffff}");
    const text = fc.oneof(fc.string({ unit }), fc.string({ unit: "binary" }));
    fc.assert(
      fc.property(text, text, (one, other) => {
        expect(Math.sign(compareStrings(one, other))).toBe(compareBytes(one, other));
      }),
      { numRuns: 5_000 },
    );
  });
});
