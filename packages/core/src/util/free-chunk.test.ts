import { describe, expect, it } from "vitest";
import { allowFreeing, freeChunk } from "./free-chunk.js";

const SIZE = 64 * 1024;

describe("freeChunk", () => {
  it("frees a chunk whose memory was marked", () => {
    const chunk = new Uint8Array(SIZE);
    allowFreeing(chunk);
    freeChunk(chunk);
    expect([chunk.length, chunk.buffer.byteLength]).toEqual([0, 0]);
  });

  it("leaves memory alone that was not marked", () => {
    const chunk = new Uint8Array(SIZE);
    freeChunk(chunk);
    expect(chunk).toHaveLength(SIZE);
  });

  it("leaves a chunk alone that is a part of other memory", () => {
    const whole = new Uint8Array(SIZE);
    allowFreeing(whole);
    const part = whole.subarray(0, SIZE - 1);
    freeChunk(part);
    expect([part.length, whole.length]).toEqual([SIZE - 1, SIZE]);
  });

  it("leaves a chunk alone that is too small to matter", () => {
    const chunk = new Uint8Array(1_000);
    allowFreeing(chunk);
    freeChunk(chunk);
    expect(chunk).toHaveLength(1_000);
  });
});
