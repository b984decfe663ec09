import { describe, expect, it } from "vitest";
import { cutBytes } from "../testing/cut-bytes.js";
import { Base64Decoder } from "./base64-stream.js";

const BYTES = Uint8Array.from({ length: 1_000 }, (_, index) => (index * 37) % 256);

function decode(text: string, places: readonly number[]): Uint8Array {
  const decoder = new Base64Decoder();
  const parts = cutBytes(new TextEncoder().encode(text), places).map((part) => decoder.push(part));
  return Buffer.concat([...parts, decoder.end()]);
}

describe("the decoder of base64", () => {
  it.each([0, 1, 2, 3, 998, 999, 1_000])("decodes %i bytes, however they are split", (length) => {
    const bytes = BYTES.subarray(0, length);
    const base64 = Buffer.from(bytes).toString("base64");
    for (const place of [0, 1, 2, 3, 4, 5, 700, 701]) {
      expect([...decode(base64, [place])]).toEqual([...bytes]);
      expect([...decode(base64.replaceAll("=", ""), [place, place + 1])]).toEqual([...bytes]);
    }
  });

  it("skips the quotes and backslashes of a JSON string", () => {
    const base64 = Buffer.from(BYTES).toString("base64");
    const written = JSON.stringify(base64).replaceAll("/", String.raw`\/`);
    for (let place = 0; place < 40; place++) expect([...decode(written, [place])]).toEqual([...BYTES]);
  });

  it("owns the bytes that it returns", () => {
    const decoder = new Base64Decoder();
    const first = decoder.push(new TextEncoder().encode("AAAA"));
    decoder.push(new TextEncoder().encode("////"));
    expect([...first]).toEqual([0, 0, 0]);
  });
});
