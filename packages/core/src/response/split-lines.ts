import { createHeldBytes } from "./held-bytes.js";

const LF = 0x0a;
const CR = 0x0d;
/** Of a longer line the first and the last so many bytes are kept, and what lies between is dropped. */
const KEPT_BYTES = 8 * 1024;
/** A byte order mark is the parser's affair; a decoder that drops it would drop one on every line. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Cuts chunks into lines that end in LF, CRLF or CR, wherever the chunks are cut themselves; each is handed over as
 * soon as its end is in. A line of many megabytes (a picture in base64) is never held: its middle is left out, which
 * keeps a JSON text whole when the middle of one long string is what is missing.
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
    this.#held ??= createPartialLine();
    this.#held.add(chunk.subarray(start));
  }

  #endLine(chunk: Uint8Array, start: number, end: number): void {
    if (this.#held === undefined && start === end) return this.#onLine("");
    const rest = chunk.subarray(start, end);
    if (this.#held === undefined && rest.length <= 2 * KEPT_BYTES) return this.#onLine(decoder.decode(rest));
    const line = this.#held ?? createPartialLine();
    this.#held = undefined;
    line.add(rest);
    this.#onLine(line.decode());
  }
}

/** A line of which the end is to come. Holds copies: a chunk goes on to the client, who may take its memory away. */
interface PartialLine {
  add(part: Uint8Array): void;
  decode(): string;
}

function createPartialLine(): PartialLine {
  const head = createHeldBytes();
  /** A ring: the byte at `n` of what follows the head stands at `n % KEPT_BYTES`. Most lines are too short for one. */
  let tail: Uint8Array<ArrayBuffer> | undefined;
  let length = 0;

  const addToTail = (part: Uint8Array): void => {
    tail ??= new Uint8Array(KEPT_BYTES);
    const kept = part.subarray(-KEPT_BYTES);
    const place = (length - KEPT_BYTES + part.length - kept.length) % KEPT_BYTES;
    const upToEnd = kept.subarray(0, KEPT_BYTES - place);
    tail.set(upToEnd, place);
    tail.set(kept.subarray(upToEnd.length), 0);
    length += part.length;
  };

  return {
    add(part) {
      const forHead = part.subarray(0, Math.max(0, KEPT_BYTES - length));
      head.add(forHead);
      length += forHead.length;
      if (part.length > forHead.length) addToTail(part.subarray(forHead.length));
    },
    decode() {
      const first = head.take();
      if (tail === undefined) return decoder.decode(first);
      if (length <= 2 * KEPT_BYTES) return decoder.decode(join(first, tail.subarray(0, length - KEPT_BYTES)));
      const oldest = length % KEPT_BYTES;
      const end = join(tail.subarray(oldest), tail.subarray(0, oldest));
      return withoutCutEscape(decoder.decode(first)) + decoder.decode(end);
    },
  };
}

/** What follows a backslash belongs to it: JSON that is cut between them is none any more. */
function withoutCutEscape(head: string): string {
  const [, backslashes = "", escape = ""] = /(\\+)(u[\da-f]{0,3})?$/i.exec(head) ?? [];
  return backslashes.length % 2 === 1 ? head.slice(0, -1 - escape.length) : head;
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}
