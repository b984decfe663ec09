import { describe, expect, it } from "vitest";
import { createDataUrlImage, LONG_DATA_URL } from "../images/data-url.js";
import { createUploadedImage, type UploadedImage } from "../images/reference-image.js";
import { toFingerprint } from "./idempotency.js";

const LONG = "x".repeat(100_000);

/** An upload that comes in pieces of a size, each overwritten by the next. */
function upload(bytes: Uint8Array, size: number): UploadedImage {
  function* chunks() {
    const piece = new Uint8Array(size);
    for (let start = 0; start < bytes.length; start += size) {
      const taken = bytes.subarray(start, start + size);
      piece.set(taken);
      yield piece.subarray(0, taken.length);
    }
  }
  return createUploadedImage("image/png", { byteLength: bytes.length, chunks, chunksSync: chunks });
}

const of = (image: unknown, more: object = {}): Promise<string> => toFingerprint({ image: [image], ...more });

describe("the fingerprint of an upload", () => {
  const bytes = Uint8Array.from({ length: 2_500_000 }, (_, index) => (index * 7) & 255);
  it("is that of its bytes, however they come", async () => {
    const first = await of(upload(bytes, 65_536));
    expect(await of(upload(bytes, 999))).toBe(first);
    expect(await of(upload(bytes, 2_500_000))).toBe(first);
  });

  it("is another for other bytes, other places and other fields", async () => {
    const changed = bytes.slice();
    changed[2_499_999] = 1;
    const [a, b] = [upload(bytes, 65_536), upload(changed, 65_536)];
    const all = [
      of(a),
      of(b),
      of(upload(bytes.subarray(1), 65_536)),
      of(a, { n: 2 }),
      of("x"),
      of({ upload: 1 }),
    ];
    const two = [toFingerprint({ image: [a, b] }), toFingerprint({ image: [b, a] })];
    const empty = [of(upload(new Uint8Array(), 1)), of(upload(new Uint8Array(1), 1))];
    const prints = await Promise.all([...all, ...two, ...empty]);
    expect(new Set(prints).size).toBe(prints.length);
  });
});

describe("the fingerprint of a data URL", () => {
  const text = `data:image/png;base64,${"A".repeat(LONG_DATA_URL)}`;
  const image = createDataUrlImage(new TextEncoder().encode(text));

  it("is the same as a text and as bytes", async () => {
    expect(image).toBeDefined();
    expect(await of(image)).toBe(await of(text));
    const mixed = { a: LONG, image: [image, text], z: image };
    expect(await toFingerprint(mixed)).toBe(await toFingerprint({ a: LONG, image: [text, text], z: text }));
  });

  it("is another for another picture", async () => {
    const other = createDataUrlImage(new TextEncoder().encode(`${text.slice(0, -1)}B`));
    expect(await of(other)).not.toBe(await of(image));
  });
});

describe("toFingerprint", () => {
  it("is short, and the same for the same fields", async () => {
    const fields = { prompt: "猫", image: [LONG, "b"], n: 1 };
    expect(await toFingerprint(fields)).toMatch(/^[0-9a-f]{64}$/);
    expect(await toFingerprint(structuredClone(fields))).toBe(await toFingerprint(fields));
  });

  it.each([{ n: 2 }, { n: "1" }, { n: null }, {}, { n: 1, o: 1 }, { n: { n: 1 } }, { n: true }])(
    "is another for other fields: %j",
    async (fields) => {
      expect(await toFingerprint(fields)).not.toBe(await toFingerprint({ n: 1 }));
    },
  );

  it.each([
    ["texts of another end", { a: `${LONG}y` }, { a: `${LONG}z` }],
    ["places changed", { a: LONG, b: "l1" }, { a: "l1", b: LONG }],
    ["order changed", { a: [LONG, `${LONG}y`] }, { a: [`${LONG}y`, LONG] }],
    ["one text less", { a: [LONG, LONG] }, { a: [LONG] }],
    ["short texts that UTF-8 cannot write", { a: "\ud800" }, { a: "\ud801" }],
    ["long texts that UTF-8 cannot write", { a: `${LONG}\ud800` }, { a: `${LONG}\ud801` }],
  ])("tells long texts apart: %s", async (_, first, second) => {
    expect(await toFingerprint(first)).not.toBe(await toFingerprint(second));
  });
});
