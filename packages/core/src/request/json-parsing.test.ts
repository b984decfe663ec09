import { Buffer } from "node:buffer";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isUploadedImage } from "../images/reference-image.js";
import type { JsonLimits, JsonObject } from "../util/json.js";
import { parseJsonObject } from "./json.js";

const MAX_DEPTH = 4;
const LIMITS: JsonLimits = { maxDepth: MAX_DEPTH, maxValues: 1_000_000 };
const MIN_DATA_URL = 30;

const parse = (json: string | Uint8Array, limits: Partial<JsonLimits> = {}): JsonObject =>
  parseJsonObject(
    typeof json === "string" ? Buffer.from(json) : json,
    { ...LIMITS, ...limits },
    MIN_DATA_URL,
  );

/** The value, or the error as a string. */
function resultOf(json: string, limits: Partial<JsonLimits> = {}): unknown {
  try {
    return parse(json, limits);
  } catch (error) {
    return String(error);
  }
}

function judge(json: string): "accepted" | "too deep" | "given twice" {
  const result = resultOf(json);
  if (typeof result !== "string") return "accepted";
  return result.includes("nested deeper") ? "too deep" : "given twice";
}

describe("duplicate keys and depth", () => {
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
  ] as const)("%s is %s", (json, expected) => {
    expect(judge(json)).toBe(expected);
  });

  it("finds a duplicate key that V8 reads as another key", () => {
    JSON.parse(String.raw`{"model":1,"mod\\u":2}`);
    expect(judge(String.raw`{"model":1,"mod\u0065l":2}`)).toBe("given twice");
  });

  it("names the key that is given twice, shortened", () => {
    const key = "k".repeat(1_000);
    expect(() => parse(`{"${key}":1,"${key}":2}`)).toThrow(
      expect.objectContaining({ status: 400, param: "k".repeat(64) }),
    );
  });
});

describe("the number of values", () => {
  it.each([
    ["{}", 1],
    ['{"a":[1,2,3]}', 5],
    ['{"a":"[,{[,{","b":[]}', 3],
    ['{"a":["\\"[[["]}', 3],
    ['{"a":[[[]]]}', 4],
  ])("of %s is %i", (json, count) => {
    expect(resultOf(json, { maxValues: count })).toEqual(JSON.parse(json));
    expect(resultOf(json, { maxValues: count - 1 })).toMatch(/holds more than \d+ values/);
  });
});

describe("bytes that are not a JSON object", () => {
  it.each([
    '{"unterminated [[[',
    '{"a":"unterminated \\"[[[',
    '{"a":"\\',
    '{"a":-',
    '{"a":-}',
    '{"a":1.0.0}',
    "{1.0:2}",
    '{"a" 1}',
    '{"a":[01]}',
    '{"a":1e}',
    '{"a":trve}',
    '{"a":"\\x"}',
    "{}{}",
    "x",
  ])("are not valid JSON: %s", (json) => {
    expect(resultOf(json)).toBe("SyntaxError: The body is not valid JSON.");
  });

  it.each(["[]", '"x"', "null", "true", " 1", "-1", "[[[["])("are another value: %s", (json) => {
    expect(resultOf(json)).toBe("SyntaxError: The body must be a JSON object.");
  });
});

describe("the number of fields", () => {
  it("counts the top level only", () => {
    const nested = '{"a":1,"b":{"c":1,"d":2,"e":3}}';
    expect(resultOf(nested, { maxFields: 2 })).toEqual(JSON.parse(nested));
    expect(resultOf(nested, { maxFields: 1 })).toMatch("holds more than 1 fields at its top level");
  });
});

describe("numbers", () => {
  it.each(["1", "0", "-1", "7.5", "123456789012345", "9007199254740991", "0.1", "1e+21", "1e-7"])(
    "are JavaScript numbers if JavaScript spells them the same: %s",
    (number) => {
      expect(resultOf(`{"a":${number}}`)).toEqual({ a: Number(number) });
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
  ])("keep another spelling: %s", (number) => {
    for (const json of [
      `{"a":${number}}`,
      `{"a":[${number},1,{"b":${number}}],"s":"${number}"}`,
      `{"__proto__":{"a":${number}}}`,
    ]) {
      expect(JSON.stringify(resultOf(json))).toBe(json);
    }
  });

  it("have a maximum length", () => {
    expect(resultOf(`{"a":${"1".repeat(1_000)}}`)).toBeInstanceOf(Object);
    expect(resultOf(`{"a":${"1".repeat(1_001)}}`)).toMatch("a number of more than 1000 characters");
  });
});

/** The value as plain JSON, in which images write themselves. */
const toPlain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const countImages = (value: unknown): number => {
  if (isUploadedImage(value)) return 1;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + countImages(item), 0);
};

const LONG = `data:image/png;base64,${"A".repeat(40)}`;

const strings = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.base64String().map((letters) => `data:image/png;base64,${letters}`),
  fc.base64String({ minLength: 40 }).map((letters) => `data:image/jpeg;base64,${letters}`),
  fc.constantFrom(LONG, `${LONG}"`, `${LONG}\\`, `${LONG}\u{e9}`, `${LONG} `, '","image":"', `:${LONG}`),
);
const names = fc.oneof(fc.constantFrom("image", "images", "__proto__", "prompt", LONG), fc.string());
const { document: documents } = fc.letrec<{ value: unknown; document: object }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    strings,
    fc.integer(),
    fc.constantFrom(true, null, 0.5),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(names, tie("value"), { maxKeys: 4 }),
  ),
  document: fc.dictionary(names, tie("value"), { maxKeys: 4 }),
}));

describe("long data URLs", () => {
  it("do not change what JSON.parse reads, with and without white space", () => {
    fc.assert(
      fc.property(documents, fc.constantFrom(undefined, 1, "\t\r\n"), (document, space) => {
        const json = JSON.stringify(document, null, space);
        expect(toPlain(parse(json, { maxDepth: 100 }))).toEqual(JSON.parse(json));
      }),
      { numRuns: 500 },
    );
  });

  it("do not change which documents are refused", () => {
    fc.assert(
      fc.property(
        documents,
        fc.integer({ min: 0 }),
        fc.uint8Array({ maxLength: 2 }),
        (document, at, bytes) => {
          const json = Buffer.from(JSON.stringify({ image: LONG, document, more: [LONG, LONG] }));
          const place = at % json.length;
          const changed = Buffer.concat([json.subarray(0, place), bytes, json.subarray(place + 1)]);
          const expected = attempt(() => parsePlainly(changed));
          expect(attempt(() => toPlain(parse(changed, { maxDepth: 100 })))).toEqual(expected);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it.each<[string, string, number]>([
    ["in image", `{"image":"${LONG}"}`, 1],
    ["in a list that is image", `{"image" : [ "${LONG}" , "https://x.test/a" , "${LONG}" ] }`, 2],
    ["in image at a deeper level", `{"input":{"content":[{"image":"${LONG}"},{"text":"a"}]}}`, 1],
  ])("become images %s", (_where, json, images) => {
    const value = parse(json);
    expect(countImages(value)).toBe(images);
    expect(toPlain(value)).toEqual(JSON.parse(json));
  });

  it.each<[string, string]>([
    ["in other fields", `{"prompt":"${LONG}","images":["${LONG}"]}`],
    ["as names of fields", `{"${LONG}":1,"image":{"${LONG}" : 2}}`],
    ["in an object that is image", `{"image":{"url":"${LONG}"}}`],
    ["in a list after image", `{"image":["a"],"more":["${LONG}"]}`],
    ["with escapes", `{"image":"${LONG.replace("/", "\\/")}"}`],
    ["with letters that are not base64", `{"image":"${LONG}-"}`],
    ["if they are short", `{"image":"data:image/png;base64,AAAA"}`],
  ])("stay strings %s", (_where, json) => {
    const value = parse(json);
    expect(countImages(value)).toBe(0);
    expect(value).toEqual(JSON.parse(json));
  });

  it("are not copied", () => {
    const json = new TextEncoder().encode(`{"image":"${LONG}"}`);
    const value = parse(json) as { image: { dataUrl: Uint8Array } };
    expect(value.image.dataUrl.buffer).toBe(json.buffer);
  });
});

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The result of JSON.parse for an object without duplicate keys and without inexact numbers such as 1e999. */
function parsePlainly(json: Uint8Array): unknown {
  const text = decoder.decode(json);
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new SyntaxError("Not an object.");
  // The three top-level keys may have become the same.
  if (Object.keys(value).length < 3 && JSON.stringify(value).length + LONG.length < text.length) {
    throw new SyntaxError("A key is given twice.");
  }
  return value;
}

/** The value, or the fact that the function threw. */
function attempt(work: () => unknown): unknown {
  try {
    return { value: work() };
  } catch {
    return "refused";
  }
}
