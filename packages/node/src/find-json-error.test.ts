import { describe, expect, it } from "vitest";
import { findJsonError } from "./find-json-error.js";

const SAMPLES = [
  '{"models": {"a": [1, -2.5e+3, true, false, null]}, "text": "\\u00e9\\n\\"ü😀"}',
  '[[], {}, [[{"a": {"b": []}}]], "", 0]\n',
  ' "text" ',
  "-0.0E-1",
];

const SIGNS = Array.from(' ,:]}[{"\\0e.-\t\u007f');

/** Whether the runtime takes it for JSON. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("findJsonError", () => {
  it.each([
    ["", 0],
    ["  ", 2],
    ["{", 1],
    ['{"a": 1,}', 8],
    ['{"a": 1 "b"}', 8],
    ['{"a" 1}', 5],
    ['{"a": }', 6],
    ["{a: 1}", 1],
    ["[1, 2,]", 6],
    ["[1 2]", 3],
    ["[1}", 2],
    ["01", 1],
    ["+1", 0],
    ["nul", 0],
    ["truee", 4],
    ['["never ends', 1],
    ['"a\\x"', 0],
    ["[] []", 3],
    ["// why\n{}", 0],
  ])("finds in %j the place %i", (text, place) => {
    expect(findJsonError(text)).toBe(place);
  });

  it.each(SAMPLES)(
    "agrees with the runtime on %j, shortened or with an extra character at any position",
    (sample) => {
      expect(findJsonError(sample)).toBeUndefined();
      for (let at = 0; at <= sample.length; at++) {
        const variants = SIGNS.map((sign) => sample.slice(0, at) + sign + sample.slice(at));
        for (const text of [sample.slice(0, at), sample.slice(0, at) + sample.slice(at + 1), ...variants]) {
          expect([text, findJsonError(text) === undefined]).toEqual([text, isJson(text)]);
        }
      }
    },
  );

  it("has no limit of depth or length", () => {
    expect(findJsonError("[".repeat(1_000_000))).toBe(1_000_000);
    expect(findJsonError(`["${"a".repeat(5_000_000)}"`)).toBe(5_000_003);
  });
});
