import { Buffer } from "node:buffer";
import { createDataUrlImage, LONG_DATA_URL } from "../images/data-url.js";
import type { UploadedImage } from "../images/reference-image.js";
import { isJsonObject } from "../util/json.js";
import { createStringScanner } from "../util/scan-string.js";

const QUOTE = 0x22;
const COLON = 0x3a;
const SPACES: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** Far above what any request needs: a body of nothing but short texts is not searched to its end. */
const MAX_STRINGS = 10_000;

/**
 * Parses JSON whose long data URLs are not decoded: as `image`, and in a list that is `image`, they become images over
 * the bytes of the body, which must stay as they are. Elsewhere, and where they are written with escapes, they are
 * texts like all others. For everything else the value, or the error, is that of `parse`.
 *
 * @param parse is given the body with short texts in their place
 * @param minLength of the data URLs that are kept, in bytes
 */
export function keepDataUrls(
  body: Uint8Array,
  parse: (json: Uint8Array) => unknown,
  minLength: number = LONG_DATA_URL,
): unknown {
  // No client can know it, so none can write what would be taken for an image.
  const mark = crypto.randomUUID();
  const { outline, images } = cutDataUrls(body, mark, minLength);
  const value = parse(outline);
  return images.length === 0 ? value : putBack(value, (text) => images[readNumber(text, mark)]);
}

interface CutJson {
  /** The document, with a text of the mark and a number in the place of each image. */
  readonly outline: Uint8Array;
  readonly images: readonly UploadedImage[];
}

/** A text that stands between two quotes with no quote before it is one in any JSON; of the rest nothing is assumed. */
function cutDataUrls(body: Uint8Array, mark: string, minLength: number): CutJson {
  // Its `indexOf` is many times as fast as that of other arrays.
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  const pieces: Uint8Array[] = [];
  const images: UploadedImage[] = [];
  const strings = createStringScanner();
  let copied = 0;
  let begin = bytes.indexOf(QUOTE);
  for (let count = 0; begin !== -1 && count < MAX_STRINGS; count++) {
    strings.begin();
    const end = strings.findEnd(bytes, begin + 1);
    if (end === -1) break;
    const image = findImage(bytes, { begin: begin + 1, end: end - 1, minLength });
    if (image !== undefined) {
      pieces.push(bytes.subarray(copied, begin + 1), Buffer.from(`${mark}${images.push(image) - 1}`));
      copied = end - 1;
    }
    begin = bytes.indexOf(QUOTE, end);
  }
  return { outline: images.length === 0 ? body : Buffer.concat([...pieces, bytes.subarray(copied)]), images };
}

function findImage(
  bytes: Uint8Array,
  { begin, end, minLength }: { readonly begin: number; readonly end: number; readonly minLength: number },
): UploadedImage | undefined {
  if (end - begin <= minLength || isKey(bytes, end + 1)) return undefined;
  // Not a Buffer: whoever gets it should find what other images are made of.
  return createDataUrlImage(new Uint8Array(bytes.buffer, bytes.byteOffset + begin, end - begin));
}

/** Whether a colon follows. */
function isKey(bytes: Uint8Array, from: number): boolean {
  let index = from;
  while (SPACES.has(bytes[index])) index++;
  return bytes[index] === COLON;
}

function readNumber(text: string, mark: string): number {
  return text.startsWith(mark) ? Number(text.slice(mark.length)) : -1;
}

/**
 * Replaces placeholder strings by their images, in a value that nothing else refers to yet.
 *
 * @param find returns the image for a placeholder
 */
function putBack(
  value: unknown,
  find: (text: string) => UploadedImage | undefined,
  isImage = false,
): unknown {
  if (typeof value === "string") {
    const image = find(value);
    if (image === undefined) return value;
    return isImage ? image : image.toJSON();
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const found = putBack(item, find, isImage);
      if (found !== item) value[index] = found;
    }
  } else if (isJsonObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      const found = putBack(item, find, name === "image");
      if (found !== item) value[name] = found;
    }
  }
  return value;
}
