import { Buffer } from "node:buffer";
import { array, assert, asyncProperty, boolean, integer, record } from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../util/json.js";
import { toJsonBody } from "./json-body.js";
import { lendChunks } from "./lend-chunks.js";
import type { ProducedBody } from "./produced-body.js";
import { createUploadedImage, type UploadedImage } from "./reference-image.js";

/** Pseudo-random bytes. */
function createBytes(length: number, seed: number): Uint8Array {
  let state = seed + 1;
  return Uint8Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return state & 255;
  });
}

/** An upload whose chunks have these lengths in turn. If `isLate`, they come asynchronously, as from a file. */
function upload(
  bytes: Uint8Array,
  lengths: readonly number[] = [1_000],
  isLate = false,
  mediaType = "image/png",
): UploadedImage {
  function* cut() {
    for (let start = 0, index = 0; start < bytes.length; index++) {
      const end = start + (lengths[index % lengths.length] ?? 1);
      yield bytes.subarray(start, end);
      start = end;
    }
  }
  async function* cutLater() {
    yield* cut();
  }
  const chunks = isLate ? cutLater : cut;
  return createUploadedImage(mediaType, { byteLength: bytes.length, chunks, chunksSync: cut });
}

function produced(value: JsonObject): ProducedBody {
  const body = toJsonBody(value);
  if (typeof body === "string") throw new Error("The body is a string.");
  return body;
}

async function collect(body: ProducedBody): Promise<Buffer> {
  const chunks = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const toDataUrl = (bytes: Uint8Array): string =>
  `data:image/png;base64,${Buffer.from(bytes).toString("base64")}`;

/** Fields of both families. */
const toValue = (image: readonly unknown[]): JsonObject => ({
  prompt: 'ein "Bär" 雪\n',
  image,
  input: { messages: [{ content: [...image.map((item) => ({ image: item })), { text: "" }] }] },
  n: 2,
});

describe("toJsonBody", () => {
  it.each([{}, { prompt: "雪", n: 3, image: ["https://x/1.png"], options: { a: [null, undefined] } }])(
    "returns a string for a value without uploads: %j",
    (value) => {
      expect(toJsonBody(value)).toBe(JSON.stringify(value));
    },
  );

  it("produces what JSON.stringify writes, with its length known in advance, each time it is iterated", async () => {
    const sizes = record({
      length: integer({ min: 0, max: 200_000 }),
      lengths: array(integer({ min: 1, max: 90_000 }), { minLength: 1, maxLength: 5 }),
      isLate: boolean(),
      seed: integer({ min: 0, max: 1_000 }),
    });
    await assert(
      asyncProperty(array(sizes, { minLength: 1, maxLength: 4 }), async (images) => {
        const files = images.map(({ length, seed }) => createBytes(length, seed));
        const uploads = images.map(({ lengths, isLate }, index) =>
          upload(files[index] ?? new Uint8Array(), lengths, isLate),
        );
        const text = JSON.stringify(toValue(files.map(toDataUrl)));
        const body = produced(toValue(uploads));
        expect(body.byteLength).toBe(Buffer.byteLength(text));
        expect((await collect(body)).equals(Buffer.from(text))).toBe(true);
        expect((await collect(body)).equals(Buffer.from(text))).toBe(true);
        expect(JSON.stringify(toValue(uploads)) === text).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  it("is the same when its memory is used again; pieces below 64 KiB always have memory of their own", async () => {
    const lengths = [3 * 98_304, 65_537, 73_728 * 2 + 1, 5];
    const files = lengths.map((length) => createBytes(length, length));
    const body = produced(toValue(files.map((bytes) => upload(bytes, [294_912]))));
    const pieces: Uint8Array[] = [];
    const memory = new Set<ArrayBufferLike>();
    for await (const piece of lendChunks(body)) {
      pieces.push(piece.length < 65_536 ? piece : Uint8Array.from(piece));
      if (piece.length >= 65_536) memory.add(piece.buffer);
    }
    const text = JSON.stringify(toValue(files.map(toDataUrl)));
    expect(Buffer.concat(pieces).equals(Buffer.from(text))).toBe(true);
    expect(memory.size).toBeLessThan(pieces.filter(({ length }) => length >= 65_536).length);
  });

  it.each([0, 1, 2, 3, 4, 5])(
    "encodes an upload of %i bytes that comes one byte at a time",
    async (length) => {
      const bytes = createBytes(length, 1);
      const body = produced({ image: upload(bytes, [1]) });
      expect(String(await collect(body))).toBe(JSON.stringify({ image: toDataUrl(bytes) }));
    },
  );

  it("puts each upload in its place, also the same upload twice, and omits what JSON omits", async () => {
    const image = upload(createBytes(10, 1));
    const other = upload(createBytes(10, 2));
    const value = {
      z: other,
      a: { later: image, gone: undefined, at: new Date(0), list: [undefined, image] },
      b: other,
      toJSON: undefined,
    };
    expect(String(await collect(produced(value)))).toBe(JSON.stringify(value));
  });

  it("produces pieces that are much smaller than its images", async () => {
    let most = 0;
    for await (const piece of produced({ image: upload(createBytes(1_000_000, 3), [1_000_000]) })) {
      most = Math.max(most, piece.length);
    }
    expect(most).toBeLessThanOrEqual(100_000);
  });
});
