import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyDocumentText } from "../testing/any-json-text.js";
import { checkJsonValue, type JsonLimits, parseJson } from "./parse-json.js";

const MAX_DEPTH = 4;
const LIMITS: JsonLimits = { maxDepth: MAX_DEPTH, maxValues: 1_000_000 };

/** What a text is refused for, by its code path: the first word after "The". */
function judge(text: string): "accepted" | "too deep" | "given twice" {
  try {
    parseJson(text, LIMITS);
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

describe("a JSON text", () => {
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
    expect(() => parseJson(`{"${key}":1,"${key}":2}`, LIMITS)).toThrow(
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

/** The numbers of a text as they are written, in any order. */
function numbersOf(text: string): readonly string[] {
  return (withoutStrings(text).match(/-?\d[\d.eE+-]*/g) ?? []).toSorted();
}

function withoutStrings(text: string): string {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
}

/** Whether some object of a text has a key twice; then values are lost. */
function hasDoubledKey(text: string): boolean {
  let members = 0;
  const count = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if (!Array.isArray(value)) members += Object.keys(value).length;
    for (const item of Object.values(value)) count(item);
  };
  count(JSON.parse(text));
  return withoutStrings(text).split(":").length - 1 !== members;
}

/** What a text is refused for, or its value. */
function verdictOn(text: string, limits: Partial<JsonLimits>): unknown {
  try {
    return parseJson(text, { ...LIMITS, ...limits });
  } catch (error) {
    return String(error);
  }
}

describe("the values of a JSON text", () => {
  it.each([
    ["{}", 1],
    ["[1,2,3]", 3],
    ['{"a":"[,{[,{","b":[]}', 3],
    ['"[[["', 0],
    ['["\\"[[["]', 1],
    ["[[[[]]]]", 4],
  ])("of %s are %i", (text, count) => {
    expect(verdictOn(text, { maxValues: count })).toEqual(JSON.parse(text));
    expect(verdictOn(`${text},`, { maxValues: count })).toMatch(/holds more than \d+ values/);
  });

  it.each([
    '"unterminated [[[',
    '"unterminated \\"[[[',
    '"\\',
    "-",
    "1.0.0",
    "{1.0:2}",
    '{"a" 1}',
    "[01]",
    "1e",
  ])("are not counted where the text is no JSON: %s", (text) => {
    expect(verdictOn(text, {})).toMatch(/^SyntaxError/);
  });
});

describe("the fields of a JSON text", () => {
  it("are those of its top level", () => {
    const nested = '{"a":1,"b":{"c":1,"d":2,"e":3}}';
    expect(verdictOn(nested, { maxFields: 2 })).toEqual(JSON.parse(nested));
    expect(verdictOn(nested, { maxFields: 1 })).toMatch("holds more than 1 fields at its top level");
    expect(verdictOn("[{},{}]", { maxFields: 0 })).toEqual([{}, {}]);
  });
});

describe("the numbers of a JSON text", () => {
  it.each(["1", "0", "-1", "7.5", "123456789012345", "9007199254740991", "0.1", "1e+21", "1e-7"])(
    "are numbers where JavaScript writes them so: %s",
    (number) => {
      expect(verdictOn(`{"a":${number}}`, {})).toEqual({ a: Number(number) });
    },
  );

  it.each([
    "9007199254740993",
    "12345678901234567890",
    "1e400",
    "-1e400",
    "0.1000000000000000055",
    "-0",
    "1.0",
    "1E5",
    "0.10",
    "1e21",
  ])("keep their text where it is another: %s", (number) => {
    for (const text of [
      `{"a":${number}}`,
      `{"a":[${number},1,{"b":${number}}],"s":"${number}"}`,
      `{"__proto__":{"a":${number}}}`,
    ]) {
      expect(JSON.stringify(verdictOn(text, {}))).toBe(text);
    }
  });

  it("are the same in any document", () => {
    // Of a key that is given twice, the value is lost.
    const documents = anyDocumentText.filter((text) => !hasDoubledKey(text));
    fc.assert(
      fc.property(documents, (text) => {
        const written = JSON.stringify(verdictOn(text, { maxDepth: 100 }));
        expect(JSON.parse(written)).toEqual(JSON.parse(text));
        expect(numbersOf(written)).toEqual(numbersOf(text));
      }),
      { numRuns: 1_000, seed: 13 },
    );
  });

  it("have a length", () => {
    expect(verdictOn(`[${"1".repeat(1_000)}]`, {})).toBeInstanceOf(Array);
    expect(verdictOn(`[${"1".repeat(1_001)}]`, {})).toMatch("a number of more than 1000 characters");
  });
});

const verdictOf = (value: unknown): string => {
  try {
    checkJsonValue(value, { maxDepth: 3, maxValues: 10, maxFields: 5 });
    return "accepted";
  } catch (error) {
    return String(error);
  }
};

describe("a value that was parsed before", () => {
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
    ["more fields", { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 }, "more than 5 fields at its top level"],
    ["as many fields as allowed", { a: 1, b: 2, c: 3, d: 4, e: 5 }, "accepted"],
    ["values in many places", { a: [1, 2, 3], b: { c: 1, d: [1, 2, 3] } }, "more than 10 values"],
  ])("judges %s", (_what, value, expected) => {
    expect(verdictOf(value)).toMatch(expected);
  });
});
