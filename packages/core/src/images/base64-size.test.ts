import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { readBase64Size } from "./base64-size.js";

/** A JPEG up to its frame: application segments, a table, fill bytes, and the frame of 1376 × 768. */
function jpeg({ metadata = 0, frame = 0xc0 } = {}): string {
  const segments = Array.from({ length: metadata }, () => segment(0xeb, 60_000));
  const start = Buffer.of(0xff, frame, 0, 17, 8, 0x03, 0x00, 0x05, 0x60, 3);
  const parts = [
    Buffer.of(0xff, 0xd8),
    ...segments,
    segment(0xc4, 20),
    Buffer.of(0xff),
    start,
    Buffer.alloc(20),
  ];
  return Buffer.concat(parts).toString("base64");
}

function segment(marker: number, length: number): Buffer {
  const head = Buffer.of(0xff, marker, (length + 2) >> 8, (length + 2) & 255);
  return Buffer.concat([head, Buffer.alloc(length, 0xff)]);
}

describe("the size of an image in base64", () => {
  it.each([
    ["a PNG", "iVBORw0KGgoAAAANSUhEUgAABQAAAALQCAYAAAB", "1280x720"],
    ["a JPEG", jpeg(), "1376x768"],
    ["a progressive JPEG", jpeg({ frame: 0xc2 }), "1376x768"],
    ["a JPEG with a segment of metadata", jpeg({ metadata: 1 }), "1376x768"],
    ["a JPEG with more metadata than is decoded", jpeg({ metadata: 2 }), undefined],
    ["a JPEG without a frame", jpeg().slice(0, 40), undefined],
    ["a PNG that is cut", "iVBORw0KGgoAAAA", undefined],
    ["another format", "UklGRgAAAABXRUJQ", undefined],
    ["no image", "", undefined],
  ])("is that of %s", (_what, base64, size) => {
    expect(readBase64Size(base64)).toBe(size);
  });
});
