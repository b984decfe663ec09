import { Buffer } from "node:buffer";
import { assert, property, uint8Array } from "fast-check";
import { describe, expect, it } from "vitest";
import type { ImageRequest } from "../types.js";
import { createDataUrlImage, withDataUrlStrings, writeDataUrls } from "./data-url.js";
import { createUploadedImage, type UploadedImage } from "./reference-image.js";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function imageOf(dataUrl: string): UploadedImage {
  const image = createDataUrlImage(bytesOf(dataUrl));
  if (image === undefined) throw new Error("Not a data URL.");
  return image;
}

describe("createDataUrlImage", () => {
  it("decodes the bytes of the image and keeps its data URL", () => {
    assert(
      property(uint8Array({ minLength: 1, maxLength: 200 }), (content) => {
        const dataUrl = `data:image/png;base64,${Buffer.from(content).toString("base64")}`;
        const image = imageOf(dataUrl);
        const chunks = [...(image.chunks() as Iterable<Uint8Array>)];
        expect(Buffer.concat(chunks)).toEqual(Buffer.from(content));
        expect(image.byteLength).toBe(content.length);
        expect(image.mediaType).toBe("image/png");
        expect(image.toJSON()).toBe(dataUrl);
        expect(image.dataUrl).toEqual(bytesOf(dataUrl));
      }),
    );
  });

  it("decodes megabytes in pieces, each time it is read", () => {
    const content = Buffer.alloc(1_000_000, "calotype");
    const image = imageOf(`data:image/png;base64,${content.toString("base64")}`);
    for (let time = 0; time < 2; time++) {
      const chunks = [...(image.chunks() as Iterable<Uint8Array>)];
      expect(chunks.length).toBeGreaterThan(10);
      expect(Buffer.concat(chunks).equals(content)).toBe(true);
    }
  });

  it.each(["A", "AB", "AB==", "A==", "AAAA=", "AAAAA", "/+0="])(
    "keeps the padding as it is: %s",
    (letters) => {
      expect(imageOf(`data:image/webp;base64,${letters}`).toJSON()).toBe(`data:image/webp;base64,${letters}`);
    },
  );

  it.each([
    "",
    "https://x.test/a.png",
    "data:image/png;base64,",
    "data:image/png;base64,=",
    "data:image/png;base64,AA===",
    "data:image/png;base64,A=A",
    "data:image/png;base64,AAAAAAAA-AAAAAAAA",
    "data:image/png;base64,AAAAAAA ",
    "data:image/png;base64,AAAAAAAAA\u{e9}",
    "data:image/png,AAAA",
    "data:IMAGE/PNG;base64,AAAA",
    "Data:image/png;base64,AAAA",
    " data:image/png;base64,AAAA",
  ])("refuses %j", (text) => {
    expect(createDataUrlImage(bytesOf(text))).toBeUndefined();
  });

  it("refuses any byte that is not a base64 letter, at any place", () => {
    for (let byte = 0; byte < 256; byte++) {
      const isLetter = /[A-Za-z0-9+/]/.test(String.fromCharCode(byte));
      for (const at of [0, 3, 7, 8, 17]) {
        const dataUrl = bytesOf(`data:image/png;base64,${"A".repeat(19)}`);
        dataUrl[22 + at] = byte;
        expect(createDataUrlImage(dataUrl) !== undefined).toBe(isLetter);
      }
    }
  });
});

describe("strings in the place of data URLs", () => {
  const dataUrl = "data:image/png;base64,AAAA";
  const image = imageOf(dataUrl);
  const file = createUploadedImage("image/png", { byteLength: 0, chunks: () => [], chunksSync: () => [] });

  it("replace only images that came as data URLs", () => {
    const fields = { image: [image, file, "https://x.test/a.png"], n: 1, more: { image } };
    expect(writeDataUrls(fields)).toEqual({
      image: [dataUrl, file, "https://x.test/a.png"],
      n: 1,
      more: { image: dataUrl },
    });
  });

  it("replace the images of a request", () => {
    const request: ImageRequest = {
      operation: "generate",
      model: "m",
      prompt: "a fox",
      images: [image, file],
      maxImages: 1,
      responseFormat: "url",
      stream: false,
      upstreamFields: { prompt: "a fox", image: [image, file] },
      ignored: [],
    };
    expect(withDataUrlStrings(request)).toEqual({
      ...request,
      images: [dataUrl, file],
      upstreamFields: { prompt: "a fox", image: [dataUrl, file] },
    });
  });
});
