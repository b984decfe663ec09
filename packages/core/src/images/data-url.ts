import { Buffer } from "node:buffer";
import type { ImageRequest } from "../types.js";
import type { JsonObject } from "../util/json.js";
import {
  createUploadedImage,
  isUploadedImage,
  type KeptBytes,
  type ReferenceImage,
  replaceUploads,
  type UploadedImage,
} from "./reference-image.js";

/** Data URLs longer than this stay bytes; shorter ones are cheaper as texts. In letters, of which each is a byte. */
export const LONG_DATA_URL = 65_536;

/** As the providers take it: whatever is written in another way is for those to judge who read texts. */
const HEADER = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+);base64,/;
const MAX_HEADER_BYTES = 128;

/** Letters that are decoded at once; four of them make three bytes. */
const PIECE_LETTERS = 4 * 24_576;

/**
 * An image of the bytes of its data URL, which are not copied. `undefined` for all that is no data URL in base64 with
 * its header in lower case.
 */
export function createDataUrlImage(dataUrl: Uint8Array): UploadedImage | undefined {
  const [header = "", mediaType] = HEADER.exec(toText(dataUrl.subarray(0, MAX_HEADER_BYTES))) ?? [];
  if (mediaType === undefined) return undefined;
  const letters = withoutPadding(dataUrl.subarray(header.length));
  if (letters.length === 0 || !isBase64(letters)) return undefined;
  return createUploadedImage(mediaType, decode(letters), dataUrl);
}

/** Fields with texts in the place of images that came as data URLs. */
export function writeDataUrls(fields: JsonObject, write: DataUrlWriter = createDataUrlWriter()): JsonObject {
  return replaceUploads(fields, write);
}

/** A request with texts in the place of images that came as data URLs, for whoever looks at them. */
export function withDataUrlTexts(request: ImageRequest): ImageRequest {
  const write = createDataUrlWriter();
  const images = request.images.map((image) => (isUploadedImage(image) ? write(image) : image));
  return { ...request, images, upstreamFields: writeDataUrls(request.upstreamFields, write) };
}

type DataUrlWriter = (image: UploadedImage) => ReferenceImage;

/** Makes one text of an image that stands in several places. */
function createDataUrlWriter(): DataUrlWriter {
  const texts = new Map<UploadedImage, string>();
  return (image) => {
    if (image.dataUrl === undefined) return image;
    const text = texts.get(image) ?? image.toJSON();
    texts.set(image, text);
    return text;
  };
}

function withoutPadding(base64: Uint8Array): Uint8Array {
  let length = base64.length;
  while (base64[length - 1] === 0x3d && base64.length - length < 2) length--;
  return base64.subarray(0, length);
}

const FOREIGN = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[A-Za-z0-9+/]/.test(String.fromCharCode(byte)) ? 0 : 1,
);

/** Eight at a time: this is most of what a request with data URLs costs. */
function isBase64(letters: Uint8Array): boolean {
  const whole = letters.length - (letters.length % 8);
  let foreign = 0;
  for (let i = 0; i < whole && foreign === 0; i += 8) {
    foreign =
      isForeign(letters, i) |
      isForeign(letters, i + 1) |
      isForeign(letters, i + 2) |
      isForeign(letters, i + 3) |
      isForeign(letters, i + 4) |
      isForeign(letters, i + 5) |
      isForeign(letters, i + 6) |
      isForeign(letters, i + 7);
  }
  for (let i = whole; i < letters.length; i++) foreign |= isForeign(letters, i);
  return foreign === 0;
}

function isForeign(letters: Uint8Array, index: number): number {
  return FOREIGN[letters[index] ?? 0] ?? 1;
}

function decode(letters: Uint8Array): KeptBytes {
  function* chunks(): Generator<Uint8Array, void> {
    for (let start = 0; start < letters.length; start += PIECE_LETTERS) {
      yield Buffer.from(toText(letters.subarray(start, start + PIECE_LETTERS)), "base64");
    }
  }
  return { byteLength: Math.floor((letters.length * 3) / 4), chunks, chunksSync: chunks };
}

function toText(ascii: Uint8Array): string {
  return Buffer.from(ascii.buffer, ascii.byteOffset, ascii.length).toString("latin1");
}
