import { Buffer } from "node:buffer";
import { invalidRequest } from "../errors.js";

const CR = 0x0d;
const LF = 0x0a;
const DASH = 0x2d;

/**
 * Finds where a form ends: after the first `--boundary--` at the beginning of a line. RFC 2046 says that what follows
 * (the epilogue) is ignored; busboy 1.6.0 would read parts from it, and would never end if one of them stays open.
 *
 * busboy also accepts a boundary that is followed by neither a line end nor `--`, and drops the bytes after it
 * silently. Such a form is refused here.
 */
export interface FormEnd {
  /**
   * Looks at the next chunk of the form.
   * @throws GatewayError `invalid_request_error`
   */
  find(chunk: Uint8Array): FoundDelimiters;
}

/** The result of a search in a chunk. */
interface FoundDelimiters {
  /** If the form ends in this chunk: how many bytes of the chunk belong to the form. */
  readonly end: number | undefined;
  /** The offsets at which the heads of parts begin: after each delimiter except the last. */
  readonly heads: readonly number[];
}

/** Far above the limits of the parser. It bounds the cost of a form that has only delimiters. */
const MAX_PARTS = 1_000;

/** @param boundary as in the header of the form */
export function createFormEnd(boundary: string): FormEnd {
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  /** The length of a delimiter and the two bytes that say what follows. */
  const span = delimiter.length + 2;
  /**
   * The last bytes before the chunk, in which a delimiter may have begun. Initially a line end, because a form may
   * begin with a delimiter.
   */
  let carried: Buffer = Buffer.from("\r\n");
  let parts = 0;

  /** Adds the heads after `offset`. @returns the index after the closing delimiter, or -1 */
  const search = (bytes: Buffer, offset: number, heads: number[]): number => {
    let found = bytes.indexOf(delimiter);
    for (; found !== -1 && found + span <= bytes.length; found = bytes.indexOf(delimiter, found + 1)) {
      const first = bytes[found + span - 2];
      const second = bytes[found + span - 1];
      const after = found + span - offset;
      if (first === DASH && second === DASH) return after;
      if (first !== CR || second !== LF) throw strayBoundary();
      if (after <= (heads.at(-1) ?? 0)) continue;
      heads.push(after);
      parts++;
      if (parts > MAX_PARTS) throw invalidRequest("The form has too many parts.");
    }
    return -1;
  };

  return {
    find(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      const heads: number[] = [];
      const seam = Buffer.concat([carried, bytes.subarray(0, span - 1)]);
      let end = search(seam, carried.length, heads);
      if (end === -1) end = search(bytes, 0, heads);
      if (end !== -1) return { end, heads };
      // Copied, so that the memory of the chunk is not retained for its last bytes.
      carried = Buffer.concat([carried, bytes.subarray(-(span - 1))]).subarray(-(span - 1));
      return { end: undefined, heads };
    },
  };
}

function strayBoundary(): Error {
  return invalidRequest("The form is malformed: its boundary must be followed by a line end or by --.");
}

/**
 * Makes busboy treat image parts as files. busboy 1.6.0 reads a part without a filename as text, whatever its content
 * type, and decoding as text destroys an image. So a part named `image`, `image[]` or `image[n]` with a content type
 * other than `text/plain` gets a first header line that busboy takes for a file. A part without a content type, or of
 * `text/plain`, stays text: it holds a URL.
 */
export interface PartHeads {
  /**
   * Returns the bytes for the parser that replace the next piece of a form.
   *
   * @param starts the offsets at which part heads begin in the piece, in ascending order
   */
  pass(piece: Uint8Array, starts: readonly number[]): readonly Uint8Array[];
  /** Returns the bytes that are held back. Call at the end of the form. */
  rest(): Uint8Array;
}

/** busboy refuses a longer head. */
const MAX_HEAD_BYTES = 16 * 1024;
const HEAD_END = "\r\n\r\n";
const AS_FILE = Buffer.from("Content-Type: application/octet-stream\r\n");

export function createPartHeads(): PartHeads {
  /** The head of a part that is not complete yet. */
  let held: Buffer | undefined;

  const take = (): Uint8Array => {
    const bytes = held ?? new Uint8Array();
    held = undefined;
    return bytes;
  };
  /** Bytes up to the next head, or to the end of the piece. */
  const passPart = (bytes: Uint8Array): readonly Uint8Array[] => {
    if (held === undefined) return [bytes];
    held = Buffer.concat([held, bytes]);
    const end = held.indexOf(HEAD_END);
    if (end === -1 && held.length <= MAX_HEAD_BYTES) return [];
    const isFile = end !== -1 && isImageFile(held.toString("latin1", 0, end));
    return isFile ? [AS_FILE, take()] : [take()];
  };

  return {
    pass(piece, starts) {
      const passed: Uint8Array[] = [];
      let from = 0;
      for (const start of starts) {
        passed.push(...passPart(piece.subarray(from, start)), take());
        held = Buffer.alloc(0);
        from = start;
      }
      passed.push(...passPart(piece.subarray(from)));
      return passed;
    },
    rest: take,
  };
}

const NAMED_IMAGE = /^content-disposition:.*;\s*name=(?:"image(?:\[\d*\])?"|image(?:\[\d*\])?)\s*(?:;|$)/im;
const WITH_FILENAME = /^content-disposition:.*;\s*filename\*?=(?!"")/im;
const WITH_TYPE = /^content-type:\s*([^\s;/]+\/[^\s;/]+)/im;

function isImageFile(head: string): boolean {
  const type = WITH_TYPE.exec(head)?.[1]?.toLowerCase();
  if (type === undefined || type === "text/plain") return false;
  return NAMED_IMAGE.test(head) && !WITH_FILENAME.test(head);
}
