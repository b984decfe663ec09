import { createHeldBytes } from "../util/held-bytes.js";
import { encodeText } from "../util/utf8.js";

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
const DATA = encodeText("data:");
const BYTE_ORDER_MARK = Uint8Array.of(0xef, 0xbb, 0xbf);
const NO_BYTES = new Uint8Array();
/** In bytes. Of a longer line that is not data, the rest is ignored. */
const MAX_FIELD_BYTES = 16 * 1024;
/** A decoder that removes byte order marks would remove one from each line. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Separates the lines of an event's data. */
export const LINE_BREAK = Uint8Array.of(LF);

/** The handler of {@link EventLines}. */
export interface EventLineHandler {
  /**
   * Bytes of the `data` of the current event. They belong to the chunk. {@link LINE_BREAK} comes between two lines of data
   * (WHATWG HTML, section 9.2.6).
   */
  onData(bytes: Uint8Array): void;
  /** An empty line has come. `name` is the value of the field `event` before it. */
  onEvent(name: string | undefined): void;
  /** All bytes, with LF as line ends. Called before the other functions. */
  onBytes?(bytes: Uint8Array): void;
}

/**
 * Reads the fields of a stream of events in its bytes, wherever the chunks are cut. Lines end in LF, CRLF or CR, and an event
 * is complete when the first byte of its last line end has arrived. Holds no data, and of other fields only the line that is not
 * complete.
 *
 * The simple version is `eventsource-parser`, which holds all of an event: a line of 30 MB takes 90 MB of memory. The tests
 * compare the two.
 */
export class EventLines {
  /** The lines that have ended. */
  lines = 0;
  /** The last id of the stream, valid when an event ends. */
  lastId: string | undefined;
  /** True if the current event has data, which may be empty. */
  hasData = false;
  readonly #handler: EventLineHandler;
  /** The beginning of a line that goes on in the next chunk, unless it is data. */
  readonly #field = createHeldBytes();
  #isInData = false;
  #hasFields = false;
  #name: string | undefined;
  #id: string | undefined;
  /** The last line with a name, and the name. Most events have the same one. */
  #namedBy = NO_BYTES;
  #lastName: string | undefined;
  /** True if the last chunk ended in CR, so that a LF belongs to it. */
  #isAfterCr = false;
  /** The bytes of a byte order mark that have arrived at the beginning; all of them when something else came. */
  #markBytes = 0;

  constructor(handler: EventLineHandler) {
    this.#handler = handler;
  }

  /** True if an event has begun and not ended. */
  get isInsideEvent(): boolean {
    return this.#hasFields || this.#isInLine;
  }

  push(chunk: Uint8Array): void {
    const bytes = this.#markBytes === BYTE_ORDER_MARK.length ? chunk : this.#skipMark(chunk);
    if (bytes.length === 0) return;
    let start = this.#isAfterCr && bytes[0] === LF ? 1 : 0;
    this.#isAfterCr = false;
    let lf = bytes.indexOf(LF, start);
    let cr = bytes.indexOf(CR, start);
    while (lf !== -1 || cr !== -1) {
      const end = lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
      this.#endLine(bytes, start, end);
      start = end + 1;
      // The LF of a CRLF does not end another line, even if it is in the next chunk.
      if (end === cr && start === lf) start++;
      else this.#isAfterCr = end === cr && start === bytes.length;
      if (lf !== -1 && lf < start) lf = findNext(bytes, LF, start);
      if (cr !== -1 && cr < start) cr = findNext(bytes, CR, start);
    }
    if (start === bytes.length) return;
    // All of a chunk is the same object, so that its memory can be freed.
    const part = start === 0 ? bytes : bytes.subarray(start);
    this.#handler.onBytes?.(part);
    this.#readPart(part);
  }

  get #isInLine(): boolean {
    return this.#isInData || this.#field.length > 0;
  }

  /** The first bytes are not a mark if one of them differs. */
  #skipMark(chunk: Uint8Array): Uint8Array {
    let at = 0;
    let marked = this.#markBytes;
    while (at < chunk.length && marked < BYTE_ORDER_MARK.length && chunk[at] === BYTE_ORDER_MARK[marked]) {
      at++;
      marked++;
    }
    const isMark = marked === BYTE_ORDER_MARK.length;
    this.#markBytes = isMark || at < chunk.length ? BYTE_ORDER_MARK.length : marked;
    if (!isMark && at < chunk.length && marked > 0) this.push(BYTE_ORDER_MARK.subarray(0, marked));
    return at === 0 ? chunk : chunk.subarray(at);
  }

  #endLine(chunk: Uint8Array, start: number, end: number): void {
    this.lines++;
    this.#handler.onBytes?.(chunk.subarray(start, end));
    this.#handler.onBytes?.(LINE_BREAK);
    if (this.#isInLine) {
      if (start < end) this.#readPart(chunk.subarray(start, end));
      if (this.#isInData) this.#isInData = false;
      else this.#readField(this.#field.take());
    } else if (start === end) this.#endEvent();
    else if (!startsWith(chunk, DATA, start, end)) this.#readField(chunk, start, end);
    else {
      const value = start + DATA.length;
      this.#beginData();
      this.#isInData = false;
      const from = chunk[value] === SPACE ? value + 1 : value;
      if (from < end) this.#handler.onData(chunk.subarray(from, end));
    }
  }

  /** Reads bytes of a line that may go on. */
  #readPart(bytes: Uint8Array): void {
    const rest = this.#isInData ? bytes : this.#readStart(bytes);
    if (this.#isInData) {
      if (rest.length > 0) this.#handler.onData(rest);
    } else this.#field.add(rest.subarray(0, MAX_FIELD_BYTES - this.#field.length));
  }

  /** Finds out whether the line is data. The first byte of the value is needed, because one space is not a part of it. */
  #readStart(bytes: Uint8Array): Uint8Array {
    const missing = DATA.length + 1 - this.#field.length;
    if (missing <= 0) return bytes;
    this.#field.add(bytes.subarray(0, missing));
    const begun = this.#field.view();
    const first = begun[DATA.length];
    if (first === undefined || !startsWith(begun, DATA, 0, begun.length)) return bytes.subarray(missing);
    this.#field.take();
    this.#beginData();
    if (first !== SPACE) this.#handler.onData(Uint8Array.of(first));
    return bytes.subarray(missing);
  }

  #beginData(): void {
    if (this.hasData) this.#handler.onData(LINE_BREAK);
    this.hasData = true;
    this.#hasFields = true;
    this.#isInData = true;
  }

  /** Reads a line that is no data, or data without a value. */
  #readField(bytes: Uint8Array, start = 0, end: number = bytes.length): void {
    if (bytes[start] === COLON) return;
    this.#hasFields = true;
    if (end - start === this.#namedBy.length && startsWith(bytes, this.#namedBy, start, end)) {
      this.#name = this.#lastName;
      return;
    }
    const line = bytes.subarray(start, end);
    const [, name, value = ""] = /^([^:]*):? ?([^]*)$/.exec(decoder.decode(line)) ?? [];
    if (name === "data") {
      this.#beginData();
      this.#isInData = false;
    } else if (name === "event") {
      this.#name = value === "" ? undefined : value;
      this.#lastName = this.#name;
      // `slice` of a Buffer would be a view.
      this.#namedBy = new Uint8Array(line);
    } else if (name === "id" && !value.includes("\0")) this.#id = value;
  }

  #endEvent(): void {
    const name = this.#name;
    this.lastId = this.#id ?? this.lastId;
    this.#name = undefined;
    this.#id = undefined;
    this.#hasFields = false;
    try {
      this.#handler.onEvent(name);
    } finally {
      this.hasData = false;
    }
  }
}

/** `indexOf` costs as much as ten bytes even if the next byte is the one that is looked for, as after an empty line. */
function findNext(chunk: Uint8Array, byte: number, from: number): number {
  if (from === chunk.length) return -1;
  return chunk[from] === byte ? from : chunk.indexOf(byte, from);
}

function startsWith(bytes: Uint8Array, beginning: Uint8Array, start: number, end: number): boolean {
  if (end - start < beginning.length) return false;
  for (let at = 0; at < beginning.length; at++) {
    if (bytes[start + at] !== beginning[at]) return false;
  }
  return true;
}
