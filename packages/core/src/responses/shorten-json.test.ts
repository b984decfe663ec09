import { array, assert, integer, property, tuple } from "fast-check";
import { describe, expect, it } from "vitest";
import { anyJsonText, anyObjectText, anyStringText } from "../testing/any-json-text.js";
import { cutBytes } from "../testing/cut-bytes.js";
import { createJsonShortener } from "./shorten-json.js";

const encoder = new TextEncoder();

function shorten(chunks: readonly Uint8Array[], maxStringBytes?: number): string {
  const shortener = createJsonShortener(maxStringBytes);
  for (const chunk of chunks) shortener.push(chunk);
  return shortener.read();
}

describe("shortened JSON text", () => {
  it("is JSON, and the same split at any bytes", () => {
    const places = array(integer({ min: 0, max: 3_000 }), { maxLength: 20 });
    assert(
      property(anyObjectText(tuple(anyStringText, anyJsonText)), places, (text, cuts) => {
        const bytes = encoder.encode(text);
        for (const maxBytes of [0, 1, 2, 3, 4, 5, 7, 20]) {
          const whole = shorten([bytes], maxBytes);
          expect(() => JSON.parse(whole)).not.toThrow();
          expect(shorten(cutBytes(bytes, cuts), maxBytes)).toBe(whole);
        }
        expect(shorten([bytes])).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ["a plain string", String.raw`{"a":"12345","b":[1,"12"]}`, String.raw`{"a":"123","b":[1,"12"]}`],
    ["a string of exactly the limit", String.raw`["123"]`, String.raw`["123"]`],
    ["an escape at the cut", String.raw`["12\n"]`, String.raw`["12"]`],
    ["an escaped backslash before the cut", String.raw`["1\\\n"]`, String.raw`["1\\"]`],
    ["an escaped quote at the cut", String.raw`["12\"4"]`, String.raw`["12"]`],
    ["a Unicode escape at the cut", String.raw`["1\u00e9"]`, String.raw`["1"]`],
    ["hex digits that are not an escape", String.raw`["abcdef"]`, String.raw`["abc"]`],
    ["an escape that ends at the cut", String.raw`["1\b45"]`, String.raw`["1\b"]`],
    ["a part of a document", String.raw`"12345": 5, [`, String.raw`"123": 5, [`],
  ])("cuts %s", (_what, text, expected) => {
    expect(shorten([encoder.encode(text)], 3)).toBe(expected);
  });

  it("has at most 64 KiB", () => {
    const chunks = Array.from({ length: 20 }, () => encoder.encode("[1,2],".repeat(1_000)));
    expect(shorten(chunks)).toHaveLength(64 * 1024);
  });
});
