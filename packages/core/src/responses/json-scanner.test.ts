import { array, assert, integer, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { anyDocumentText, anyStringText, MAX_KEY_BYTES } from "../testing/any-json-text.js";
import { cutBytes, cutEvery } from "../testing/cut-bytes.js";
import { JsonScanner } from "./json-scanner.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

interface Told {
  readonly members: [key: string, value: unknown][];
  /** Keys, brackets and values as they were written. */
  readonly written: string;
  /** The largest value that was reported in one piece. */
  readonly largest: number;
  readonly scanner: JsonScanner;
}

/** The members that a scanner reports. Values that were reported in parts are joined. */
function scan(chunks: readonly Uint8Array[], maxHeldBytes?: number): Told {
  const members: [string, unknown][] = [];
  let items: unknown[] | undefined;
  let written = "";
  let parts = "";
  let largest = 0;
  const add = (text: string): void => {
    const value: unknown = JSON.parse(text);
    written += text;
    if (items !== undefined) items.push(value);
    else members.push([members.pop()?.[0] ?? "", value]);
  };
  /** Parts are cut anywhere, in characters too. */
  let decodeParts = new TextDecoder("utf-8", { ignoreBOM: true });
  const scanner = new JsonScanner(
    {
      onMember(key, bytes) {
        members.push([key, "nothing told"]);
        written += decoder.decode(bytes);
      },
      onItems() {
        items = [];
        written += "[";
      },
      onItemsEnd() {
        members.push([members.pop()?.[0] ?? "", items]);
        items = undefined;
        written += "]";
      },
      onValue(bytes) {
        largest = Math.max(largest, bytes.length);
        add(decoder.decode(bytes));
      },
      onPart(bytes) {
        parts += decodeParts.decode(bytes, { stream: true });
      },
      onPartsEnd() {
        add(parts);
        parts = "";
        decodeParts = new TextDecoder("utf-8", { ignoreBOM: true });
      },
    },
    { items: "data", maxHeldBytes },
  );
  for (const chunk of chunks) {
    const own = chunk.slice();
    scanner.push(own);
    // The client may take its memory away.
    own.fill(0x21);
  }
  return { members, written, largest, scanner };
}

let parsed = 0;

/**
 * What `JSON.parse` gives. V8 of Node 24 reads an escaped key as another one if an object of a similar shape was parsed
 * before it, also by another test. So the first key is one that no object had before.
 */
function parseFresh(text: string): object {
  if (/^\s*\{\s*\}\s*$/.test(text)) return {};
  const key = `parsed-${parsed++}`;
  const { [key]: _added, ...members } = JSON.parse(text.replace("{", `{"${key}":0,`)) as Record<
    string,
    unknown
  >;
  return members;
}

const bytewise = (bytes: Uint8Array): readonly Uint8Array[] => cutEvery(bytes, 1);
const scanText = (text: string): Told => scan([encoder.encode(text)]);
const places = array(integer({ min: 0, max: 1_000 }), { maxLength: 12 });

describe("a scanner of JSON", () => {
  it("reports the members that JSON.parse finds, however the bytes are cut", () => {
    assert(
      property(
        anyDocumentText,
        places,
        integer({ min: MAX_KEY_BYTES, max: 80 }),
        (text, cuts, maxHeldBytes) => {
          const bytes = encoder.encode(text);
          const expected = parseFresh(text);
          for (const chunks of [[bytes], cutBytes(bytes, cuts), bytewise(bytes)]) {
            const { members, scanner, largest } = scan(chunks, maxHeldBytes);
            expect(scanner.status()).toBe("complete");
            expect(Object.fromEntries(members)).toEqual(expected);
            expect(largest).toBeLessThanOrEqual(maxHeldBytes);
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("calls a document open wherever it is cut", () => {
    assert(
      property(anyDocumentText, integer({ min: 0, max: 2_000 }), (text, place) => {
        const whole = text.trimEnd();
        expect(scanText(whole.slice(0, place % whole.length)).scanner.status()).toBe("open");
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ["nothing", ""],
    ["white space", " \n"],
    ["an object without its end", '{"a":1'],
    ["an object that ends in a number", '{"a":1.5'],
    ["an object that ends in a string", '{"a":"x'],
    ["an object that ends in an escape", '{"a":"x\\'],
    ["an escaped quote in place of the last one", '{"a":"x\\"}'],
    ["an array without its end", '{"a":[{}'],
  ])("calls %s open", (_what, text) => {
    expect(scanText(text).scanner.status()).toBe("open");
  });

  it.each([
    ["an array", "[]"],
    ["a string", '"a"'],
    ["a number", "5"],
    ["a page", "<html>"],
    ["a byte order mark that is not at its start", " \uFEFF{}"],
    ["two byte order marks", "\uFEFF\uFEFF{}"],
    ["a comma before the first member", "{,}"],
    ["a comma after the last member", '{"a":1,}'],
    ["a comma after the last item", '{"a":[1,]}'],
    ["a comma before the first item", '{"a":[,1]}'],
    ["two commas", '{"a":1,,"b":2}'],
    ["a member without a comma", '{"a":1 "b":2}'],
    ["a key without quotes", "{a:1}"],
    ["a key in single quotes", "{'a':1}"],
    ["a key that is a number", "{1:1}"],
    ["a key with a wrong escape", '{"\\x":1}'],
    ["a key without a value", '{"a"}'],
    ["a key without a value after its colon", '{"a":}'],
    ["two colons", '{"a"::1}'],
    ["a comma for a colon", '{"a",1}'],
    ["a colon for a comma", '{"a":1:2}'],
    ["a colon in an array", '{"a":["b":1]}'],
    ["two values", '{"a":1 2}'],
    ["two strings", '{"a":"b""c"}'],
    ["brackets that do not match", '{"a":[1}}'],
    ["brackets that do not match the other way", '{"a":{"b":1]}'],
    ["a bracket too many", "{}}"],
    ["another document after it", "{}{}"],
    ["a word after it", "{} ok"],
    ["a NUL after it", "{}\0"],
    ["a byte outside of strings that is no JSON", '{"a":#}'],
    ["a key of 17,000 bytes", `{"${"k".repeat(17_000)}":1}`],
  ])("calls a document with %s broken", (_what, text) => {
    expect(scanText(text).scanner.status()).toBe("broken");
    expect(scan(cutEvery(encoder.encode(text), text.length < 20_000 ? 1 : 100)).scanner.status()).toBe(
      "broken",
    );
  });

  it.each([
    ["65 levels", `{"a":${"[".repeat(64)}${"]".repeat(64)}}`],
    ["10,000 values in a list", `{"a":[${"1,".repeat(10_000)}1]}`],
    ["10,000 values in objects", `{"a":[${'{"k":1},'.repeat(5_000)}1]}`],
    ["a thousand members", `{"a":1${',"b":1'.repeat(1_000)}}`],
    ["a thousand items", `{"data":[${"1,".repeat(1_000)}1]}`],
    ["a mebibyte of spaces", `{"a":${" ".repeat(1024 * 1024)}1}`],
    ["a number of a mebibyte", `{"a":${"1".repeat(1024 * 1024)}}`],
    ["a mebibyte of keys", `{"a":{${`"${"k".repeat(9_999)}":1,`.repeat(105)}"b":1}}`],
  ])("calls a document with more than %s excessive", (_what, text) => {
    expect(scanText(text).scanner.status()).toBe("excessive");
    expect(scan(cutEvery(encoder.encode(text), 100)).scanner.status()).toBe("excessive");
  });

  it("takes any length of a string that is a value", () => {
    expect(scanText(`{"a":{"b":["${"x".repeat(5_000_000)}"]}}`).scanner.status()).toBe("complete");
  });

  it("takes 64 levels, as many as are read of a whole response", () => {
    const { scanner, members } = scanText(`{"a":${"[".repeat(63)}${"]".repeat(63)}}`);
    expect(scanner.status()).toBe("complete");
    expect(members).toHaveLength(1);
  });

  it("takes no member of an inner object for one of the top", () => {
    const { members } = scanText('{"a":{"data":[1],"usage":2},"data":[{"data":[3]},[4]],"b":[{"usage":5}]}');
    expect(members).toEqual([
      ["a", { data: [1], usage: 2 }],
      ["data", [{ data: [3] }, [4]]],
      ["b", [{ usage: 5 }]],
    ]);
  });

  it.each(["{}", "5", "null", '"data"'])("treats data that is not an array, %s, as a value", (value) => {
    expect(scanText(`{"data":${value}}`).members).toEqual([["data", JSON.parse(value)]]);
  });

  it("leaves numbers as they are written", () => {
    expect(scanText('{"a":12345678901234567890,"data":[1.50,-0,1E5]}').written).toBe(
      '"a"12345678901234567890"data"[1.50-01E5]',
    );
  });

  it("hands long strings over, and keeps a short text of their values, however the bytes are cut", () => {
    const anyText = anyStringText.map((text) => `"${text.slice(1, -1).repeat(9)}"`);
    assert(
      property(anyText, anyText, places, (first, second, cuts) => {
        const document = `{"a":${first},"b":[{"c":${second},"d":1}]}`;
        const strings: string[] = [];
        const values: unknown[] = [];
        let text = "";
        const scanner = new JsonScanner(
          {
            onValue: (bytes) => (text = decoder.decode(bytes)),
            onPartsEnd: (bytes) => (text = decoder.decode(bytes)),
            onLongString() {
              values.push(scanner.readValue());
              return strings.push("") > 0;
            },
            onStringPart: (bytes) => strings.push(strings.pop() + Buffer.from(bytes).toString("latin1")),
          },
          { maxHeldBytes: 30 },
        );
        for (const chunk of cutBytes(encoder.encode(document), cuts)) scanner.push(chunk);
        const long = [first, second].filter((written) => Buffer.byteLength(written) > 32);
        expect(strings.map((string) => Buffer.from(string, "latin1").toString())).toEqual(long);
        expect(values.every((value) => typeof value === "object")).toBe(true);
        expect(Object.keys(JSON.parse(text))).toEqual(["a", "b"]);
      }),
      { numRuns: 500 },
    );
  });
});
