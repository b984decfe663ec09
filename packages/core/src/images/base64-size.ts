import { Buffer } from "node:buffer";

/** The beginning of an image that is decoded, in characters of base64. The size of a JPEG with much metadata is not found. */
const MAX_DECODED = 128 * 1024;

/** The beginning in which a PNG has its size. */
const PNG_HEAD = 32;

/**
 * Reads the size of a PNG or JPEG in base64 from its first bytes.
 *
 * @returns `<width>x<height>`; `undefined` for other formats, and if the beginning does not tell
 */
export function readBase64Size(base64: string): string | undefined {
  if (base64.startsWith("iVBORw0KGgo")) return readPng(Buffer.from(base64.slice(0, PNG_HEAD), "base64"));
  if (base64.startsWith("/9j/")) return readJpeg(Buffer.from(base64.slice(0, MAX_DECODED), "base64"));
  return undefined;
}

/** The signature and the first chunk, IHDR, have a fixed length. */
function readPng(bytes: Buffer): string | undefined {
  return bytes.length < 24 ? undefined : spell(bytes.readUInt32BE(16), bytes.readUInt32BE(20));
}

/** Goes from segment to segment, up to the start of a frame, which has the size. */
function readJpeg(bytes: Buffer): string | undefined {
  let at = 2;
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) at += 1;
    else if (isFrameStart(marker)) return spell(bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5));
    else at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

/** SOF0 to SOF15, without the tables DHT, JPG and DAC between them. */
function isFrameStart(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

function spell(width: number, height: number): string | undefined {
  return width > 0 && height > 0 ? `${width}x${height}` : undefined;
}
