import { Buffer } from "node:buffer";
import { expect, it } from "vitest";
import { freeChunk } from "./free-chunk.js";

it("a chunk that is all of its memory is freed", () => {
  const chunk = new Uint8Array(100);
  freeChunk(chunk);
  expect(chunk).toHaveLength(0);
});

it("a chunk that is a part of other memory is not freed", () => {
  const memory = Buffer.alloc(100, 1);
  // On Node, a small Buffer is such a part of its pool.
  for (const part of [memory.subarray(0, 50), memory.subarray(50), new Uint8Array(memory.buffer, 3, 6)]) {
    const { length } = part;
    freeChunk(part);
    expect(part).toHaveLength(length);
  }
  expect(memory).toEqual(Buffer.alloc(100, 1));
});
