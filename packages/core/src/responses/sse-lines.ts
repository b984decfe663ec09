import { createHeldBytes } from "../util/held-bytes.js";
import { createJsonShortener, type JsonShortener } from "./shorten-json.js";

const LF = 0x0a;
const CR = 0x0d;
const NO_BYTES = new Uint8Array();
/** Lines that have more bytes are shortened. */
const MAX_WHOLE_BYTES = 16 * 1024;
/** A decoder that removes byte order marks would remove one from each line. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Splits chunks into lines that end in LF, CRLF or CR, and calls `onLine` with each line when its end has arrived. A line
 * of many megabytes, such as an image in base64, is never held: the long strings in it are cut short, and the rest of
 * its JSON stays readable. Without this, a line of 30 MB takes 90 MB of memory in the event parser. The simple version
 * decodes the chunks and passes them to the parser. See docs/decisions/0002.
 */
export class LineSplitter {
  readonly #onLine: (line: string) => void;
  readonly #scanner: LineScanner;
  #held: PartialLine | undefined;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
    this.#scanner = new LineScanner({
      onPart: (part) => {
        this.#held ??= new PartialLine();
        this.#held.add(part);
      },
      onEnd: (rest) => this.#endLine(rest),
    });
  }

  /** False if the beginning of a line is held because its end has not arrived. */
  get isAtLineStart(): boolean {
    return this.#held === undefined;
  }

  /** True for a short chunk of whole lines whose last line is empty. They end in LF only. */
  isWhole(chunk: Uint8Array): boolean {
    const { length } = chunk;
    if (length < 2 || length > MAX_WHOLE_BYTES || !this.isAtLineStart || this.#scanner.isAfterCr)
      return false;
    return chunk[length - 1] === LF && chunk[length - 2] === LF && !chunk.includes(CR);
  }

  push(chunk: Uint8Array): void {
    this.#scanner.push(chunk);
  }

  #endLine(rest: Uint8Array): void {
    if (this.#held === undefined && rest.length <= MAX_WHOLE_BYTES)
      return this.#onLine(rest.length === 0 ? "" : decoder.decode(rest));
    const line = this.#held ?? new PartialLine();
    this.#held = undefined;
    line.add(rest);
    this.#onLine(line.decode());
  }
}

/** Decodes lines without removing a byte order mark. */
export function decodeLines(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** The handler of the lines of a {@link LineScanner}. */
export interface LineHandler {
  /** Bytes of a line whose end has not arrived. They belong to the chunk. */
  onPart(part: Uint8Array): void;
  /** The last bytes of a line, without its end. They belong to the chunk. */
  onEnd(rest: Uint8Array): void;
}

/** Finds the ends of lines in chunks: LF, CRLF or CR. Holds no bytes. */
export class LineScanner {
  readonly #handler: LineHandler;
  /** True if the last chunk ended in CR, so that a LF belongs to it. */
  isAfterCr = false;

  constructor(handler: LineHandler) {
    this.#handler = handler;
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    let start = this.isAfterCr && chunk[0] === LF ? 1 : 0;
    this.isAfterCr = false;
    let lf = chunk.indexOf(LF, start);
    let cr = chunk.indexOf(CR, start);
    while (lf !== -1 || cr !== -1) {
      const end = lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
      this.#handler.onEnd(start === end ? NO_BYTES : chunk.subarray(start, end));
      start = end + 1;
      // The LF of a CRLF does not end another line, even if it is in the next chunk.
      if (end === cr && start === lf) start++;
      else this.isAfterCr = end === cr && start === chunk.length;
      if (lf !== -1 && lf < start) lf = findNext(chunk, LF, start);
      if (cr !== -1 && cr < start) cr = findNext(chunk, CR, start);
    }
    if (start < chunk.length) this.#handler.onPart(start === 0 ? chunk : chunk.subarray(start));
  }
}

/** `indexOf` costs as much as ten bytes even if the next byte is the one that is looked for, as after an empty line. */
function findNext(chunk: Uint8Array, byte: number, from: number): number {
  return chunk[from] === byte ? from : chunk.indexOf(byte, from);
}

/** A line whose end has not arrived. It holds copies, because the chunks are passed on to the client. */
class PartialLine {
  readonly #start = createHeldBytes();
  /** The shortened copy of a long line. */
  #shortener: JsonShortener | undefined;

  add(part: Uint8Array): void {
    if (this.#shortener === undefined && this.#start.length + part.length <= MAX_WHOLE_BYTES) {
      return this.#start.add(part);
    }
    if (this.#shortener === undefined) {
      this.#shortener = createJsonShortener();
      this.#shortener.push(this.#start.take());
    }
    this.#shortener.push(part);
  }

  decode(): string {
    return this.#shortener === undefined ? decoder.decode(this.#start.view()) : this.#shortener.read();
  }
}
