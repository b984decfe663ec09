import { describe, expect, it } from "vitest";
import { checkJsonValue } from "./json.js";

function resultOf(value: unknown): string {
  try {
    checkJsonValue(value, { maxDepth: 3, maxValues: 10, maxFields: 5 });
    return "accepted";
  } catch (error) {
    return String(error);
  }
}

describe("checkJsonValue", () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

  it.each([
    ["a number", 1, "accepted"],
    ["null", null, "accepted"],
    ["the maximum depth", nested(3), "accepted"],
    ["a greater depth", nested(4), "nested deeper than 3 levels"],
    ["a much greater depth", nested(5_000), "nested deeper than 3 levels"],
    ["the maximum number of values", Array.from({ length: 9 }), "accepted"],
    ["more values", Array.from({ length: 10 }), "more than 10 values"],
    ["inherited properties", Object.create({ inherited: nested(5) }), "accepted"],
    ["more fields", { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 }, "more than 5 fields at its top level"],
    ["the maximum number of fields", { a: 1, b: 2, c: 3, d: 4, e: 5 }, "accepted"],
    ["values at several levels", { a: [1, 2, 3], b: { c: 1, d: [1, 2, 3] } }, "more than 10 values"],
  ])("judges %s", (_what, value, expected) => {
    expect(resultOf(value)).toMatch(expected);
  });
});
