import { describe, expect, it } from "vitest";
import { detectMediaType } from "./reference-image.js";

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

describe("detectMediaType", () => {
  it.each([
    ["\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"],
    ["\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"],
    ["\xff\xd8\xff\xe1\0\x10Exif", "image/jpeg"],
    ["RIFF\x24\0\0\0WEBPVP8 ", "image/webp"],
    ["GIF87a", "image/gif"],
    ["GIF89a", "image/gif"],
    ["BM\x36\0\0\0", "image/bmp"],
    ["II*\0\x08\0\0\0", "image/tiff"],
    ["MM\0*\0\0\0\x08", "image/tiff"],
    ["\0\0\0\x18ftypheic", "image/heic"],
    ["\0\0\0\x18ftypheix", "image/heic"],
    ["\0\0\0\x18ftyphevc", "image/heic"],
    ["\0\0\0\x18ftyphevx", "image/heic"],
    ["\0\0\0\x18ftypmif1", "image/heif"],
    ["\0\0\0\x18ftypmsf1", "image/heif"],
  ])("reads %j as %s", (start, mediaType) => {
    expect(detectMediaType(bytes(start))).toBe(mediaType);
    expect(detectMediaType(bytes(start.padEnd(100_000, "x")))).toBe(mediaType);
  });

  it.each([
    "",
    "B",
    "\x89PNG",
    "\xff\xd8",
    "RIFF\x24\0\0\0WAVEfmt ",
    "riffxxxxWEBP",
    "xxxxxxxxWEBP",
    "\0\0\0\x18ftypavif",
    "\0\0\0\x18ftypisom",
    " \x89PNG\r\n\x1a\n",
    "<svg xmlns='http://www.w3.org/2000/svg'/>",
    "%PDF-1.7",
    "PK\x03\x04",
    "hello",
  ])("detects no image in %j", (start) => {
    expect(detectMediaType(bytes(start))).toBeUndefined();
  });
});
