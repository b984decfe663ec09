import { Buffer } from "node:buffer";

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
