import { Buffer } from "node:buffer";
import { BLOCK_BYTES } from "./block-pool.js";
import { lendChunks, setLender } from "./lend-chunks.js";
import type { UploadedImage } from "./reference-image.js";

/**
 * A body whose bytes are created while they are sent, such as JSON or a form with the files of a client. Each iteration
 * starts again, because a failed call is sent to another channel.
 */
export interface ProducedBody extends AsyncIterable<Uint8Array> {
  /** The length of the whole body. */
  readonly byteLength: number;
}

/** A part of a body: bytes that are sent unchanged, or an image that is sent as its bytes or as base64. */
export type BodyPart = Uint8Array | { readonly raw: UploadedImage } | { readonly base64: UploadedImage };

/** Creates a body of these parts, in order. */
export function createProducedBody(parts: readonly BodyPart[]): ProducedBody {
  const body: ProducedBody = {
    byteLength: parts.reduce((sum, part) => sum + lengthOf(part), 0),
    [Symbol.asyncIterator]: () => produce(parts, false),
  };
  setLender(body, () => produce(parts, true));
  return body;
}

function lengthOf(part: BodyPart): number {
  if (part instanceof Uint8Array) return part.length;
  return "raw" in part ? part.raw.byteLength : toBase64Length(part.base64.byteLength);
}

/** One generator with all loops, because each `yield*` to another one costs several promises per chunk. */
async function* produce(parts: readonly BodyPart[], isLent: boolean): AsyncGenerator<Uint8Array, void> {
  for (const part of parts) {
    if (part instanceof Uint8Array) {
      yield part;
    } else if ("base64" in part) {
      const encoder = new PieceEncoder(isLent);
      for await (const chunk of lendChunks(part.base64))
        for (const letters of encoder.encode(chunk)) yield letters;
      const rest = encoder.end();
      if (rest.length > 0) yield rest;
    } else if (isLent) {
      // Chunks that are shorter than a block get their own memory, because a socket returns before it has sent them.
      for await (const chunk of lendChunks(part.raw))
        yield chunk.length < BLOCK_BYTES ? chunk.slice() : chunk;
    } else {
      yield* part.raw.chunks();
    }
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
class PieceEncoder {
  readonly #isLent: boolean;
  /** One or two bytes that wait for the rest of their three. */
  #carried: Buffer = Buffer.alloc(0);
  #letters: Buffer | undefined;

  constructor(isLent: boolean) {
    this.#isLent = isLent;
  }

  *encode(chunk: Uint8Array): Generator<Uint8Array, void> {
    for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
      const end = Math.min(chunk.length, start + PIECE_BYTES);
      let piece = Buffer.from(chunk.buffer, chunk.byteOffset + start, end - start);
      if (this.#isLent && this.#carried.length === 0 && piece.length === PIECE_BYTES) {
        this.#letters ??= Buffer.allocUnsafeSlow(toBase64Length(PIECE_BYTES));
        this.#letters.write(piece.toString("base64"), "latin1");
        yield this.#letters;
        continue;
      }
      if (this.#carried.length > 0) piece = Buffer.concat([this.#carried, piece]);
      const whole = piece.length - (piece.length % 3);
      if (whole > 0) yield Buffer.from(piece.toString("base64", 0, whole), "latin1");
      this.#carried = Buffer.from(piece.subarray(whole));
    }
  }

  /** The last letters; may be empty. */
  end(): Uint8Array {
    return Buffer.from(this.#carried.toString("base64"), "latin1");
  }
}
