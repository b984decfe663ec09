import { Buffer } from "node:buffer";
import { array, assert, boolean, integer, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { allowFreeing } from "../util/free-chunk.js";
import { BodyBytes } from "./body.js";

/** Chunks of these lengths, each filled with another byte. */
const chunksOf = (lengths: readonly number[]): Uint8Array[] =>
  lengths.map((length, index) => new Uint8Array(length).fill(index + 1));

function collect(declared: number, chunks: Iterable<Uint8Array>): BodyBytes {
  const bytes = new BodyBytes(declared);
  for (const chunk of chunks) bytes.add(chunk);
  return bytes;
}

describe("BodyBytes", () => {
  it("contain all chunks, whatever length was declared", () => {
    const lengths = array(integer({ min: 0, max: 90_000 }), { maxLength: 6 });
    assert(
      property(lengths, integer({ min: -70_000, max: 70_000 }), boolean(), (cuts, off, isTold) => {
        const chunks = chunksOf(cuts);
        const expected = Buffer.concat(chunks);
        const bytes = collect(isTold ? expected.length + off : Number.NaN, chunks);
        expect(bytes.length).toBe(expected.length);
        expect(expected.equals(bytes.take())).toBe(true);
      }),
    );
  });

  it("are not copied if they are one chunk", () => {
    for (const declared of [100_000, Number.NaN]) {
      const [chunk = new Uint8Array()] = chunksOf([100_000]);
      expect(collect(declared, [chunk]).take()).toBe(chunk);
    }
  });

  it("use exactly the declared memory after all bytes arrived", () => {
    const bytes = collect(1_000_000, chunksOf([400_000, 599_999, 1]));
    expect(bytes.take().buffer.byteLength).toBe(1_000_000);
  });

  it.each([64 * 1024 * 1024, Number.NaN])(
    "use memory for the bytes that arrived and not for the declared length: %d",
    (declared) => {
      expect(collect(declared, chunksOf([1, 1])).take().buffer.byteLength).toBe(65_536);
      const arrived = collect(declared, chunksOf([50_000, 50_000, 200_000])).take();
      expect(arrived.buffer.byteLength).toBeLessThanOrEqual(4 * arrived.length);
    },
  );

  it.each([1_000, 44_000, 65_536, 700_000])(
    "copy at most a third again while the array grows (chunks of %d bytes)",
    (length) => {
      const declared = 12_583_094;
      const bytes = new BodyBytes(declared);
      let moved = 0;
      let memory = bytes.take().buffer;
      while (bytes.length < declared) {
        const before = bytes.length;
        bytes.add(new Uint8Array(Math.min(length, declared - before)));
        if (bytes.take().buffer !== memory) moved += before;
        memory = bytes.take().buffer;
        expect(memory.byteLength).toBeLessThanOrEqual(Math.max(65_536, 16 * bytes.length));
      }
      expect(moved).toBeLessThanOrEqual(declared / 3 + length);
    },
  );

  it("free the memory of chunks that were copied, if it may be freed", () => {
    const chunks = chunksOf([20_000, 30_000, 40_000]);
    const expected = Buffer.concat(chunks);
    for (const chunk of chunks) allowFreeing(chunk);
    const bytes = collect(expected.length, chunks);
    expect(expected.equals(bytes.take())).toBe(true);
    expect(chunks.map(({ length }) => length)).toEqual([0, 0, 0]);
    const [only = new Uint8Array()] = chunksOf([20_000]);
    allowFreeing(only);
    expect(collect(20_000, [only]).take()).toHaveLength(20_000);
  });

  it("do not hold the memory of many small chunks", () => {
    const slab = new Uint8Array(10_000);
    const bytes = collect(
      Number.NaN,
      Array.from({ length: 10_000 }, (_, at) => slab.subarray(at, at + 1)),
    );
    expect(bytes.take()).toHaveLength(10_000);
    expect(bytes.take().buffer).not.toBe(slab.buffer);
  });
});
