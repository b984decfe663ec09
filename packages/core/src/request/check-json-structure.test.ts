import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkJsonStructure, checkValueCount } from "./check-json-structure.js";
import { checkJsonValue } from "./check-json-value.js";

const MAX_DEPTH = 4;

/** What a text is refused for, by its code path: the first word after "The". */
function judge(text: string): "accepted" | "too deep" | "given twice" {
  try {
    checkJsonStructure(text, JSON.parse(text), MAX_DEPTH);
    return "accepted";
  } catch (error) {
    return String(error).includes("nested deeper") ? "too deep" : "given twice";
  }
}

/** Depth by recursion over the parsed value. */
function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** A key as a JSON string in which every character is escaped. */
const escaped = (key: string): string =>
  `"${Array.from({ length: key.length }, (_, index) => `\\u${key.charCodeAt(index).toString(16).padStart(4, "0")}`).join("")}"`;

describe("checkJsonStructure", () => {
  it.each([
    ["{}", "accepted"],
    ['{"a":1,"b":1}', "accepted"],
    ['{"a":1,"a":1}', "given twice"],
    ['{"a":1, "b":{"a":1},\n\t"a" : 1}', "given twice"],
    ['{"a":{"b":1,"b":2}}', "accepted"],
    ['{"a":["a","a","a"],"b":"a"}', "accepted"],
    ['{"a":"x","x":"a"}', "accepted"],
    ['{"a":"\\"a\\":1,\\"a\\":2"}', "accepted"],
    ['{"mod\\u0065l":1,"model":1}', "given twice"],
    ['{"model":1,"\\u006d\\u006f\\u0064\\u0065\\u006c":1}', "given twice"],
    ['{"a\\\\":1,"a":2}', "accepted"],
    ['{"a\\\\":1,"a\\u005c":2}', "given twice"],
    ['{"a":"\\\\","b":"}]}]","c":"\\\\\\""}', "accepted"],
    ['{"\\ud83d\\ude00":1,"😀":2}', "given twice"],
    ['{"":1,"":2}', "given twice"],
    ['{"__proto__":1,"constructor":2}', "accepted"],
    ['{"__proto__":1,"__proto__":2}', "given twice"],
    ['{"a":[[[]]]}', "accepted"],
    ['{"a":[[[[]]]]}', "too deep"],
    ['{"a":{"b":{"c":{}}},"d":{"e":{"f":[]}}}', "accepted"],
    ['{"a":{"b":{"c":{"d":{}}}}}', "too deep"],
    ['{"a":"[[[[[[[[{{{{{{"}', "accepted"],
  ] as const)("%s is %s", (text, expected) => {
    expect(judge(text)).toBe(expected);
  });

  it("finds a doubled key that V8 reads as another", () => {
    JSON.parse(String.raw`{"model":1,"mod\\u":2}`);
    expect(judge(String.raw`{"model":1,"mod\u0065l":2}`)).toBe("given twice");
  });

  it("names the key that is given twice, shortened", () => {
    const key = "k".repeat(1_000);
    expect(() => checkJsonStructure(`{"${key}":1,"${key}":2}`, { [key]: 2 }, MAX_DEPTH)).toThrow(
      expect.objectContaining({ status: 400, param: "k".repeat(64) }),
    );
  });

  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("\\", "\\\\", '"', '\\"', '\\\\"', "{", "[[", ',"a":', "\u2028", "\ud800"),
    fc.array(fc.constantFrom("\\", '"', "a", "{", "}"), { maxLength: 12 }).map((parts) => parts.join("")),
    fc.string({ minLength: 500, maxLength: 2_000 }),
  );
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(null, true, -0.5e3),
      text,
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(text, tie("value"), { maxKeys: 4 }),
    ),
  })).value;
  const keys = fc.oneof(fc.constantFrom("a", "b", "a\\", 'a"'), text);

  it("agrees with JSON.parse and recursion on any document", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(keys, value, fc.boolean()), { maxLength: 6 }),
        fc.constantFrom("", " ", "\n\t "),
        (fields, space) => {
          const members = fields.map(
            ([key, content, isEscaped]) =>
              `${space}${isEscaped ? escaped(key) : JSON.stringify(key)}${space}:${space}${JSON.stringify(content, null, space)}`,
          );
          const document = `{${members.join(",")}${space}}`;
          const names = fields.map(([key]) => key.toWellFormed());
          const hasDouble = new Set(names).size < names.length;
          // Of a doubled key JSON.parse keeps the last value only.
          const depth =
            1 + Math.max(0, ...fields.map(([, content]) => depthOf(JSON.parse(JSON.stringify(content)))));
          const verdict = judge(document);
          JSON.parse(document);
          expect(verdict === "accepted").toBe(!hasDouble && depth <= MAX_DEPTH);
        },
      ),
      { numRuns: 1_500, seed: 20_261_121 },
    );
  });
});

describe("checkValueCount", () => {
  it.each([
    ["{}", 1],
    ["[1,2,3]", 3],
    ['{"a":"[,{[,{","b":[]}', 3],
    ['"[[["', 0],
    ['["\\"[[["', 1],
    ["[[[[", 4],
  ])("counts %s as %i", (text, count) => {
    expect(() => checkValueCount(text, count)).not.toThrow();
    expect(() => checkValueCount(`${text},`, count)).toThrow(/holds more than/);
  });

  it("ends at the end of a string that does not", () => {
    expect(() => checkValueCount('"unterminated [[[', 0)).not.toThrow();
  });

  it.each([
    ["quotes", '"'.repeat(1_000_001)],
    ["escaped quotes", `"${'\\"'.repeat(1_000_000)}`],
    ["backslashes", `"${"\\".repeat(2_000_000)}`],
  ])("goes through a megabyte of %s in no time", (_what, text) => {
    const start = performance.now();
    checkValueCount(text, 10);
    expect(performance.now() - start).toBeLessThan(500);
  });
});

const verdictOf = (value: unknown): string => {
  try {
    checkJsonValue(value, { maxDepth: 3, maxValues: 10 });
    return "accepted";
  } catch (error) {
    return String(error);
  }
};

describe("checkJsonValue", () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

  it.each([
    ["a number", 1, "accepted"],
    ["null", null, "accepted"],
    ["as deep as allowed", nested(3), "accepted"],
    ["deeper", nested(4), "nested deeper than 3 levels"],
    ["much deeper", nested(5_000), "nested deeper than 3 levels"],
    ["as many values as allowed", Array.from({ length: 9 }), "accepted"],
    ["more values", Array.from({ length: 10 }), "more than 10 values"],
    ["what an object has from its prototype", Object.create({ inherited: nested(5) }), "accepted"],
    ["values in many places", { a: [1, 2, 3], b: { c: 1, d: [1, 2, 3] } }, "more than 10 values"],
  ])("judges %s", (_what, value, expected) => {
    expect(verdictOf(value)).toMatch(expected);
  });
});
