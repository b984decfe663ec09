import { Buffer } from "node:buffer";
import { array, assert, boolean, integer, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { BodyBytes } from "./body-bytes.js";

/** Chunks of these lengths, each of a letter of its own. */
const chunksOf = (lengths: readonly number[]): Uint8Array[] =>
  lengths.map((length, index) => new Uint8Array(length).fill(index + 1));

/** As `@calotype/node` does: nothing of the chunk is left, its length included. */
const free = (chunk: Uint8Array): void => {
  structuredClone(chunk, { transfer: chunk.buffer instanceof ArrayBuffer ? [chunk.buffer] : [] });
  expect(chunk.length).toBe(0);
};

describe("the bytes of a body", () => {
  it("are those of its chunks, whatever was declared, and though chunks are freed", () => {
    const lengths = array(integer({ min: 0, max: 90_000 }), { maxLength: 6 });
    assert(
      property(lengths, integer({ min: -70_000, max: 70_000 }), boolean(), (cuts, off, isTold) => {
        const chunks = chunksOf(cuts);
        const expected = Buffer.concat(chunks);
        const bytes = new BodyBytes(isTold ? expected.length + off : Number.NaN, free);
        for (const chunk of chunks) bytes.add(chunk);
        expect(bytes.length).toBe(expected.length);
        expect(expected.equals(bytes.take())).toBe(true);
      }),
    );
  });

  it("are copied once where a large body says how long it is", () => {
    let freed = 0;
    const chunks = chunksOf([50_000, 50_000]);
    const bytes = new BodyBytes(100_000, (chunk) => {
      freed += chunk.length;
      free(chunk);
    });
    for (const chunk of chunks) bytes.add(chunk);
    expect(freed).toBe(100_000);
    expect(bytes.take().buffer).toBe(bytes.take().buffer);
  });

  it("are not copied where they are one chunk", () => {
    for (const declared of [100_000, Number.NaN]) {
      const [chunk = new Uint8Array()] = chunksOf([100_000]);
      const bytes = new BodyBytes(declared, () => expect.unreachable());
      bytes.add(chunk);
      expect(bytes.take()).toBe(chunk);
    }
  });
});
