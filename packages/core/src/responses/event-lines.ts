import { createHeldBytes } from "../util/held-bytes.js";
import { encodeText } from "../util/utf8.js";
import { LineScanner } from "./sse-lines.js";

const decoder = new TextDecoder();

/** The handler of {@link EventLines}. */
export interface EventLineHandler {
  /** Bytes of the `data` of the current event. */
  onData(bytes: Uint8Array): void;
  /** An empty line has come. `name` is the value of the field `event` before it. */
  onEvent(name: string | undefined): void;
  /** All bytes, with LF as line ends. Called before the other functions. */
  onBytes?(bytes: Uint8Array): void;
}

const DATA = encodeText("data:");
const BYTE_ORDER_MARK = Uint8Array.of(0xef, 0xbb, 0xbf);
const LINE_BREAK = Uint8Array.of(0x0a);
/** In bytes. Of a longer line that is not data, the rest is ignored. */
const MAX_FIELD_BYTES = 1_024;

/** Splits a stream of events into their names and the bytes of their data. Holds only short fields. */
export class EventLines {
  readonly #handler: EventLineHandler;
  readonly #scanner: LineScanner;
  /** The beginning of the current line, until it is known that the line is data. */
  readonly #field = createHeldBytes();
  #isData = false;
  #hasData = false;
  #name: string | undefined;
  /** How many bytes of a byte order mark at the beginning were skipped; all of them when something else came. */
  #marked = 0;

  constructor(handler: EventLineHandler) {
    this.#handler = handler;
    this.#scanner = new LineScanner({
      onPart: (part) => {
        handler.onBytes?.(part);
        this.#readPart(part);
      },
      onEnd: (rest) => {
        handler.onBytes?.(rest);
        handler.onBytes?.(LINE_BREAK);
        this.#readPart(rest);
        this.#endLine();
      },
    });
  }

  push(chunk: Uint8Array): void {
    this.#scanner.push(this.#marked < BYTE_ORDER_MARK.length ? this.#skipByteOrderMark(chunk) : chunk);
  }

  #skipByteOrderMark(chunk: Uint8Array): Uint8Array {
    let start = 0;
    while (start < chunk.length && chunk[start] === BYTE_ORDER_MARK[this.#marked]) {
      start++;
      this.#marked++;
    }
    if (start < chunk.length) this.#marked = BYTE_ORDER_MARK.length;
    return chunk.subarray(start);
  }

  #readPart(part: Uint8Array): void {
    if (this.#isData) return this.#readData(part);
    const before = this.#field.length;
    this.#field.add(part.subarray(0, MAX_FIELD_BYTES - before));
    if (before >= DATA.length || !startsWith(this.#field.view(), DATA)) return;
    const skipped = DATA.length - before;
    this.#field.take();
    this.#isData = true;
    // The data of several lines is joined by line ends (WHATWG HTML, section 9.2.6).
    if (this.#hasData) this.#handler.onData(LINE_BREAK);
    this.#hasData = true;
    this.#readData(part.subarray(skipped));
  }

  #readData(part: Uint8Array): void {
    if (part.length > 0) this.#handler.onData(part);
  }

  #endLine(): void {
    const wasData = this.#isData;
    this.#isData = false;
    if (wasData) return;
    const line = decoder.decode(this.#field.take());
    if (line !== "") {
      const [, name] = /^event: ?(.*)$/.exec(line) ?? [];
      this.#name = name ?? this.#name;
      return;
    }
    this.#handler.onEvent(this.#name);
    this.#hasData = false;
    this.#name = undefined;
  }
}

function startsWith(bytes: Uint8Array, beginning: Uint8Array): boolean {
  return bytes.length >= beginning.length && beginning.every((byte, index) => bytes[index] === byte);
}
