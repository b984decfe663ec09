import { createHeldBytes } from "./held-bytes.js";
import { createJsonShortener, type JsonShortener } from "./shorten-json.js";

const LF = 0x0a;
const CR = 0x0d;
/** Longer lines are shortened, in bytes. */
const MAX_WHOLE_BYTES = 16 * 1024;
/** A byte order mark is the parser's affair; a decoder that drops it would drop one on every line. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Cuts chunks into lines that end in LF, CRLF or CR, wherever the chunks are cut themselves; each is handed over as
 * soon as its end is in. A line of many megabytes (an image in base64) is never held: the long strings in it are cut
 * short, so that all of its other JSON can be read.
 */
export class LineSplitter {
  readonly #onLine: (line: string) => void;
  #held: PartialLine | undefined;
  #isAfterCr = false;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** True when no part of a line is waiting for its end. */
  get isAtLineStart(): boolean {
    return this.#held === undefined;
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    let start = this.#isAfterCr && chunk[0] === LF ? 1 : 0;
    this.#isAfterCr = false;
    let lf = chunk.indexOf(LF, start);
    let cr = chunk.indexOf(CR, start);
    while (lf !== -1 || cr !== -1) {
      const end = lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
      this.#endLine(chunk, start, end);
      start = end + 1;
      // The LF of a CRLF ends no line of its own, be it in the next chunk.
      if (end === cr && start === lf) start++;
      else this.#isAfterCr = end === cr && start === chunk.length;
      if (lf !== -1 && lf < start) lf = chunk.indexOf(LF, start);
      if (cr !== -1 && cr < start) cr = chunk.indexOf(CR, start);
    }
    if (start === chunk.length) return;
    this.#held ??= new PartialLine();
    this.#held.add(chunk.subarray(start));
  }

  #endLine(chunk: Uint8Array, start: number, end: number): void {
    if (this.#held === undefined && start === end) return this.#onLine("");
    const rest = chunk.subarray(start, end);
    if (this.#held === undefined && rest.length <= MAX_WHOLE_BYTES) return this.#onLine(decoder.decode(rest));
    const line = this.#held ?? new PartialLine();
    this.#held = undefined;
    line.add(rest);
    this.#onLine(line.decode());
  }
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
