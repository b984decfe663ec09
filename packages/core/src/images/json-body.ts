import { Buffer } from "node:buffer";
import type { JsonObject } from "../util/json.js";
import { type Chunks, lendChunks, setLender } from "./lend-chunks.js";
import { stringifyUploads, toDataUrlPrefix, type UploadedImage } from "./reference-image.js";

/**
 * A body whose bytes are created while they are sent, such as JSON with the files of a form in it. Each iteration starts
 * again, because a failed call is sent to another channel.
 */
export interface ProducedBody extends AsyncIterable<Uint8Array> {
  /** The length of the whole body. */
  readonly byteLength: number;
}

/**
 * Writes an object as the JSON body of an upstream call. Uploads in it are written as data URLs while the body is sent,
 * one piece at a time, so no string of a whole image is created.
 */
export function toJsonBody(value: JsonObject): string | ProducedBody {
  const images: UploadedImage[] = [];
  // A client cannot know this value, so it cannot send a string that would be taken for an image.
  const mark = crypto.randomUUID();
  const outline = stringifyUploads(value, (image) => `${mark}[${images.push(image) - 1}]`);
  if (images.length === 0) return outline;
  // Strings alternate with indexes of images.
  const pieces = outline.split(new RegExp(`${mark}\\[(\\d+)\\]`));
  const encoder = new TextEncoder();
  return createProducedBody(
    pieces.flatMap((piece, index) =>
      index % 2 === 0 ? encoder.encode(piece) : writeImage(images[Number(piece)]),
    ),
  );
}

/** Bytes that are sent unchanged, or an image whose base64 is sent. */
type BodyPart = Uint8Array | UploadedImage;

function writeImage(image: UploadedImage | undefined): BodyPart[] {
  if (image === undefined) return [];
  if (image.dataUrl !== undefined) return [image.dataUrl];
  return [new TextEncoder().encode(toDataUrlPrefix(image.mediaType)), image];
}

function createProducedBody(parts: readonly BodyPart[]): ProducedBody {
  const lengths = parts.map((part) =>
    part instanceof Uint8Array ? part.length : toBase64Length(part.byteLength),
  );
  const body: ProducedBody = {
    byteLength: lengths.reduce((sum, length) => sum + length, 0),
    [Symbol.asyncIterator]: () => produce(parts, false),
  };
  setLender(body, () => produce(parts, true));
  return body;
}

async function* produce(parts: readonly BodyPart[], isLent: boolean): AsyncGenerator<Uint8Array, void> {
  for (const part of parts) {
    if (part instanceof Uint8Array) yield part;
    else yield* encodeBase64(lendChunks(part), isLent);
  }
}

/** The number of bytes that are encoded at once. Three bytes become four letters. */
const PIECE_BYTES = 3 * 24_576;

function toBase64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/**
 * Encodes chunks of any size as base64. If `isLent`, the letters of full pieces are written to the same memory again
 * and again. Shorter pieces always get their own memory, because a socket returns before it has sent them.
 */
async function* encodeBase64(chunks: Chunks, isLent: boolean): AsyncGenerator<Uint8Array, void> {
  /** One or two bytes that wait for the rest of their three. */
  let carried: Buffer = Buffer.alloc(0);
  let letters: Buffer | undefined;
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
      const end = Math.min(chunk.length, start + PIECE_BYTES);
      let piece = Buffer.from(chunk.buffer, chunk.byteOffset + start, end - start);
      if (isLent && carried.length === 0 && piece.length === PIECE_BYTES) {
        letters ??= Buffer.allocUnsafeSlow(toBase64Length(PIECE_BYTES));
        letters.write(piece.toString("base64"), "latin1");
        yield letters;
        continue;
      }
      if (carried.length > 0) piece = Buffer.concat([carried, piece]);
      const whole = piece.length - (piece.length % 3);
      if (whole > 0) yield Buffer.from(piece.toString("base64", 0, whole), "latin1");
      carried = Buffer.from(piece.subarray(whole));
    }
  }
  if (carried.length > 0) yield Buffer.from(carried.toString("base64"), "latin1");
}
