import { describe, expect, it } from "vitest";
import { cutEvery } from "../testing/cut-bytes.js";
import { detectBody } from "./body-kind.js";

const encoder = new TextEncoder();

describe("the kind of a body", () => {
  it.each([
    ["{", "json"],
    ['{"data":[]}', "json"],
    ['\uFEFF{"a":1}', "json"],
    [" \r\n\t{", "json"],
    ["\uFEFF\n{", "json"],
    ["data: x", "events"],
    ["data:{}", "events"],
    ["data\n", "events"],
    ["event: a\n", "events"],
    ["id:1", "events"],
    ["retry: 10\r", "events"],
    [": a comment", "events"],
    ["\uFEFFdata: x", "events"],
    ["\n\r\ndata: x", "events"],
    ["[1]", "other"],
    ["<html>", "other"],
    ["database: x", "other"],
    ["date: x", "other"],
    ["Data: x", "other"],
    ["dat: x", "other"],
    ["null", "other"],
    ["\u001f\u008b", "other"],
    [" ".repeat(2_000), "other"],
  ])("of %j is %s, however it is cut", (text, kind) => {
    const bytes = encoder.encode(text);
    expect(detectBody([bytes])).toBe(kind);
    expect(detectBody(cutEvery(bytes, 1))).toBe(kind);
  });

  it.each(["", " ", "\uFEFF", "\uFEFF\r\n ", "d", "dat", "data", "event", "i", "retr"])(
    "is not known yet for %j",
    (text) => {
      const bytes = encoder.encode(text);
      expect(detectBody(cutEvery(bytes, 1))).toBeUndefined();
    },
  );

  it("is not known yet for half a byte order mark", () => {
    expect(detectBody([Uint8Array.of(0xef, 0xbb)])).toBeUndefined();
  });

  it("is neither for compressed bytes", () => {
    expect(detectBody([Uint8Array.of(0x1f, 0x8b, 8, 0)])).toBe("other");
    expect(detectBody([Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd)])).toBe("other");
  });
});
