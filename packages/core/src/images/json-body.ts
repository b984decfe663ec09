import { Buffer } from "node:buffer";
import type { ProducedBody } from "../families/family.js";
import type { JsonObject } from "../util/json.js";
import {
  type ChunksOptions,
  dataUrlPrefix,
  stringifyUploads,
  type UploadedImage,
} from "./reference-image.js";

/**
 * An object as the JSON of a call. Where the files of a form stand in it, they are written as data URLs piece by
 * piece while the body is sent, and data URLs that came as bytes go as those, so that no text of a whole image is ever
 * made.
 */
export function toJsonBody(value: JsonObject): string | ProducedBody {
  const images: UploadedImage[] = [];
  // A client cannot know this value, so it cannot send a string that would be taken for an image.
  let mark = "";
  const outline = stringifyUploads(value, (image) => {
    mark ||= crypto.randomUUID();
    return `${writePrefix(image)}${mark}[${images.push(image) - 1}]`;
  });
  if (images.length === 0) return outline;
  // Strings alternate with numbers of images.
  const pieces = outline.split(new RegExp(`${mark}\\[(\\d+)\\]`));
  return toProducedBody(
    pieces.map((piece, index) => (index % 2 === 0 ? piece : images[Number(piece)])).filter(isPresent),
  );
}

function writePrefix({ dataUrl, mediaType }: UploadedImage): string {
  return dataUrl === undefined ? dataUrlPrefix(mediaType) : "";
}

function isPresent<T>(value: T | undefined): value is T {
  return value !== undefined;
}

function toProducedBody(texts: readonly (string | UploadedImage)[]): ProducedBody {
  const encoder = new TextEncoder();
  const parts = texts.map((part) =>
    typeof part === "string" ? encoder.encode(part) : (part.dataUrl ?? part),
  );
  const lengths = parts.map((part) =>
    part instanceof Uint8Array ? part.length : toBase64Length(part.byteLength),
  );
  return {
    byteLength: lengths.reduce((sum, length) => sum + length, 0),
    [Symbol.asyncIterator]: () => produce(parts),
    chunks: (options) => produce(parts, options),
  };
}

async function* produce(
  parts: readonly (Uint8Array | UploadedImage)[],
  options?: ChunksOptions,
): AsyncGenerator<Uint8Array, void> {
  for (const part of parts) {
    if (part instanceof Uint8Array) yield part;
    else yield* encodeBase64(part.chunks({ reuse: true }), options);
  }
}

/** Bytes that are encoded at once; three of them make four letters. */
const PIECE_BYTES = 3 * 24_576;

/** Length of the letters whose memory is used again. */
const REUSED_LETTERS = 4 * 24_576;

/** How many letters the base64 of so many bytes has. */
function toBase64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/**
 * The base64 of bytes that come in pieces of any size, as the bytes of its letters. A piece is done with when the
 * next is asked for; with `reuse` so are the letters of whole pieces, and only those.
 */
async function* encodeBase64(
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  { reuse = false }: ChunksOptions = {},
): AsyncGenerator<Uint8Array, void> {
  // One or two bytes that wait for the rest of their three.
  let carried: Buffer = Buffer.alloc(0);
  let reused: Buffer | undefined;
  for await (const chunk of chunks) {
    let start = 0;
    while (start < chunk.length) {
      const end = Math.min(chunk.length, start + PIECE_BYTES);
      const piece = Buffer.from(chunk.buffer, chunk.byteOffset + start, end - start);
      start = end;
      if (reuse && carried.length === 0 && piece.length === PIECE_BYTES) {
        reused ??= Buffer.allocUnsafeSlow(REUSED_LETTERS);
        reused.write(piece.toString("base64"), "latin1");
        yield reused;
        continue;
      }
      const { letters, rest } = encodeThrees(carried, piece);
      carried = rest;
      if (letters.length > 0) yield letters;
    }
  }
  if (carried.length > 0) yield Buffer.from(carried.toString("base64"), "latin1");
}

function encodeThrees(carried: Buffer, piece: Buffer): { letters: Buffer; rest: Buffer } {
  // What completes the carried bytes; where nothing is carried, nothing.
  const missing = (3 - carried.length) % 3;
  if (piece.length < missing) return { letters: Buffer.alloc(0), rest: Buffer.concat([carried, piece]) };
  const end = piece.length - ((piece.length - missing) % 3);
  const letters = Buffer.allocUnsafe(toBase64Length(carried.length + end));
  let written = 0;
  if (carried.length > 0) {
    written = letters.write(
      Buffer.concat([carried, piece.subarray(0, missing)]).toString("base64"),
      "latin1",
    );
  }
  letters.write(piece.toString("base64", missing, end), written, "latin1");
  return { letters, rest: Buffer.from(piece.subarray(end)) };
}
