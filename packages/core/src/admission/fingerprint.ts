import { bytesToHex } from "@noble/hashes/utils.js";
import { LONG_DATA_URL } from "../data-url-image.js";
import type { JsonObject } from "../json.js";
import { stringifyUploads, type UploadedImage } from "../uploaded-image.js";

/**
 * Texts longer than this, such as data URLs, are hashed apart: to write them as JSON takes longer than to hash them.
 * Data URLs that stay bytes are as long.
 */
const LONG = LONG_DATA_URL;

/**
 * The same for the same fields, and for forms with the same files however they came. They can be many megabytes:
 * Web Crypto hashes them beside the event loop, and of each long text there is one copy.
 */
export async function toFingerprint(fields: JsonObject): Promise<string> {
  const longTexts: (string | Uint8Array)[] = [];
  const uploads: UploadedImage[] = [];
  // A data URL gets the same hash as a string and as bytes.
  const write = (image: UploadedImage): unknown => image.dataUrl ?? { upload: uploads.push(image) };
  // The letter before each string distinguishes the hash of a long string from a short string that is a number.
  const outline = stringifyUploads(fields, write, (_, value: unknown) => {
    if (value instanceof Uint8Array) return `l${longTexts.push(value)}`;
    if (typeof value !== "string") return value;
    return isLong(value) ? `l${longTexts.push(value)}` : `s${value}`;
  });
  const hashes = [];
  for (const text of longTexts) hashes.push(await hash(text));
  for (const image of uploads) hashes.push(await hashUpload(image));
  return hash([outline, ...hashes].join("\n"));
}

/** UTF-8 cannot tell lone surrogates apart, JSON can. */
function isLong(text: string): boolean {
  return text.length > LONG && text.isWellFormed();
}

/** Web Crypto hashes what is there as a whole only. */
const BLOCK_BYTES = 1024 * 1024;

/** Of blocks of one size, since the chunks of the same file are not the same each time. */
async function hashUpload(image: UploadedImage): Promise<string> {
  const hashes: string[] = [];
  const block = new Uint8Array(Math.min(BLOCK_BYTES, image.byteLength));
  let used = 0;
  for await (const chunk of image.chunks({ reuse: true })) {
    for (let rest = chunk; rest.length > 0; ) {
      const fitting = rest.subarray(0, block.length - used);
      block.set(fitting, used);
      used += fitting.length;
      rest = rest.subarray(fitting.length);
      if (used < block.length) continue;
      hashes.push(await hashBytes(block));
      used = 0;
    }
  }
  hashes.push(await hashBytes(block.subarray(0, used)));
  return hash(hashes.join("\n"));
}

function hash(text: string | Uint8Array): Promise<string> {
  return hashBytes(typeof text === "string" ? new TextEncoder().encode(text) : text);
}

async function hashBytes(bytes: Uint8Array): Promise<string> {
  return bytesToHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
