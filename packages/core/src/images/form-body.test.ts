import { Buffer } from "node:buffer";
import { array, assert, asyncProperty, constantFrom, integer, oneof, record, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { readMultipart } from "../request/multipart.js";
import { PNG, PNG_URL } from "../testing/form-bytes.js";
import { openMemorySpool, spooledFile } from "../testing/form-files.js";
import { createDataUrlImage } from "./data-url.js";
import { type FormBody, type FormPart, toFormBody } from "./form-body.js";
import { toJsonBody } from "./json-body.js";
import { lendChunks } from "./lend-chunks.js";
import { createUploadedImage, isUploadedImage, toBase64, type UploadedImage } from "./reference-image.js";

async function collect(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<Buffer> {
  const collected = [];
  // Copied, because a lent chunk is valid only until the next one.
  for await (const chunk of chunks) collected.push(Buffer.from(chunk));
  return Buffer.concat(collected);
}

/** Browsers write line ends and quotes in names in this way too. Servers do not decode them. */
const escapeName = (name: string): string =>
  name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A");

const upload = (bytes: Uint8Array, mediaType = "image/png"): UploadedImage =>
  createUploadedImage(mediaType, spooledFile(bytes));

/** Reads a form as the gateway reads those of clients. */
async function readBack({ body, contentType }: FormBody): Promise<Record<string, unknown>> {
  const limits = { form: 1e9, file: 1e9 };
  const request = {
    method: "POST",
    url: "http://x/",
    headers: new Headers({ "content-type": contentType }),
    body,
    signal: new AbortController().signal,
  };
  return await readMultipart(request, { limits, spool: openMemorySpool() });
}

describe("the body of a form to a provider", () => {
  it("has the parts in order, with their names, types and bytes", async () => {
    const { body, contentType } = toFormBody([
      { name: "model", value: "gpt-image-2" },
      { name: "image[]", file: upload(PNG) },
      { name: "image[]", file: PNG_URL },
      { name: "mask", file: upload(PNG, "image/webp"), fileName: 'a "mask".webp' },
    ]);
    const boundary = contentType.replace("multipart/form-data; boundary=", "");
    const png = Buffer.from(PNG).toString("latin1");
    const expected = [
      `--${boundary}`,
      'Content-Disposition: form-data; name="model"',
      "",
      "gpt-image-2",
      `--${boundary}`,
      'Content-Disposition: form-data; name="image[]"; filename="image.png"',
      "Content-Type: image/png",
      "",
      png,
      `--${boundary}`,
      'Content-Disposition: form-data; name="image[]"; filename="image.png"',
      "Content-Type: image/png",
      "",
      png,
      `--${boundary}`,
      'Content-Disposition: form-data; name="mask"; filename="a %22mask%22.webp"',
      "Content-Type: image/webp",
      "",
      png,
      `--${boundary}--`,
      "",
    ].join("\r\n");
    expect((await collect(body)).toString("latin1")).toBe(expected);
  });

  it("is the same each time it is sent, also without copies, and has the length that it states", async () => {
    const bytes = Buffer.alloc(1_000_003, "abcdefg");
    const dataUrl = createDataUrlImage(Buffer.from(`data:image/png;base64,${bytes.toString("base64")}`));
    if (dataUrl === undefined) throw new Error("The data URL is not an image.");
    const { body } = toFormBody([
      { name: "image", file: upload(bytes) },
      { name: "image", file: dataUrl },
    ]);
    const first = await collect(body);
    expect(first.length).toBe(body.byteLength);
    expect((await collect(body)).equals(first)).toBe(true);
    expect((await collect(lendChunks(body))).equals(first)).toBe(true);
    expect(first.indexOf(bytes)).not.toBe(first.lastIndexOf(bytes));
  });

  it("does not copy the chunks of a long file", async () => {
    const chunk = new Uint8Array(288 * 1024);
    const chunks = () => [chunk, chunk.subarray(0, 10)];
    const file = createUploadedImage("image/png", {
      byteLength: chunk.length + 10,
      chunks,
      chunksSync: chunks,
    });
    const lent = [];
    for await (const bytes of lendChunks(toFormBody([{ name: "image", file }]).body)) lent.push(bytes);
    expect(lent[1]).toBe(chunk);
    expect(lent[2]?.buffer).not.toBe(chunk.buffer);
  });

  it("is refused for a link", () => {
    expect(() => toFormBody([{ name: "image", file: "https://x.test/1.png" }])).toThrow(TypeError);
  });

  it("is read back with the same fields and files, whatever they hold", async () => {
    const name = constantFrom("prompt", 'a"b', "a\r\nb", "雪", "size");
    const parts = array(
      oneof(
        record({ name, value: string({ unit: "grapheme", maxLength: 40 }) }),
        record({ name, value: constantFrom("--", "\r\n--calotype-", "\r\n\r\n", "") }),
      ),
      { maxLength: 5 },
    );
    await assert(
      asyncProperty(
        parts,
        array(integer({ min: 0, max: 2_000 }), { minLength: 1, maxLength: 3 }),
        async (fields, sizes) => {
          const byName = new Map(fields.map((field) => [field.name, field]));
          const files = sizes.map((size) => Buffer.concat([PNG, Buffer.alloc(size, "\r\n--calotype")]));
          const form: FormPart[] = [
            { name: "model", value: "m" },
            ...byName.values(),
            ...files.map((bytes): FormPart => ({ name: "image", file: upload(bytes) })),
          ];
          const { image, model, ...read } = await readBack(toFormBody(form));
          expect(model).toBe("m");
          expect(read).toEqual(
            Object.fromEntries([...byName.values()].map((field) => [escapeName(field.name), field.value])),
          );
          const images = Array.isArray(image) ? image.filter(isUploadedImage) : [];
          const bytes = await Promise.all(images.map((item) => collect(item.chunks())));
          expect(bytes.map((item) => item.toString("hex"))).toEqual(
            files.map((item) => item.toString("hex")),
          );
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe("an image as base64 in JSON", () => {
  const base64 = Buffer.from(PNG).toString("base64");

  it.each([
    ["an upload", upload(PNG)],
    ["a data URL", PNG_URL],
    ["a long data URL", createDataUrlImage(Buffer.from(PNG_URL)) ?? ""],
  ])("has no prefix, from %s", async (_what, image) => {
    const body = toJsonBody({ data: toBase64(image), whole: image });
    const isString = typeof body === "string";
    const text = isString ? body : (await collect(body)).toString();
    const length = isString ? body.length : body.byteLength;
    expect(JSON.parse(text)).toEqual({ data: base64, whole: PNG_URL });
    expect(JSON.parse(JSON.stringify({ data: toBase64(image) }))).toEqual({ data: base64 });
    expect(length).toBe(text.length);
  });

  it("is refused for a link", () => {
    expect(() => toBase64("https://x.test/1.png")).toThrow(TypeError);
  });
});
