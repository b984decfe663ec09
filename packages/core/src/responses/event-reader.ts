import { createHeldBytes } from "../util/held-bytes.js";
import { EventLines, LINE_BREAK } from "./event-lines.js";
import { createJsonShortener, type JsonShortener } from "./shorten-json.js";

/** One server-sent event. In lines of `data` longer than 16 KiB, strings longer than 8 KiB are shortened. */
export interface SseEvent {
  readonly event?: string | undefined;
  readonly data: string;
  /** The last id that the stream gave, with this event or before it. */
  readonly id?: string | undefined;
}

/** Reads the events in the bytes of a stream. */
export interface SseReader {
  push(chunk: Uint8Array): void;
  /** True if an event has begun and not ended. Text inserted at this point would become part of that event. */
  readonly isInsideEvent: boolean;
}

/** Longer lines of data are shortened, in bytes. */
const MAX_WHOLE_BYTES = 16 * 1024;
/** An event is skipped if the lines of its data, each shortened, have more characters than this. */
const MAX_EVENT_CHARACTERS = 1024 * 1024;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Reads whole events. A line of many megabytes, such as an image in base64, is never held: the long strings in it are cut
 * short, and the rest of its JSON stays readable. See docs/decisions/0002.
 *
 * A class, because thousands of streams may be open: an object with its own getter takes ten times the memory.
 */
export class EventReader implements SseReader {
  readonly #onEvent: (event: SseEvent) => void;
  readonly #fields: EventLines;
  /** The lines of data before the current one. */
  #data: string | undefined;
  /** The current line of data, which belongs to the current chunk. */
  #line: Uint8Array | undefined;
  /** The current line of data, if it began in an earlier chunk or is long. */
  #longLine: PartialLine | undefined;
  #isTooLarge = false;

  constructor(onEvent: (event: SseEvent) => void) {
    this.#onEvent = onEvent;
    this.#fields = new EventLines(this);
  }

  push(chunk: Uint8Array): void {
    this.#fields.push(chunk);
    // The chunk is passed on to the client.
    if (this.#line !== undefined) this.#openLongLine();
  }

  get lines(): number {
    return this.#fields.lines;
  }

  get isInsideEvent(): boolean {
    return this.#fields.isInsideEvent;
  }

  /** For the reader of the fields. */
  onData(bytes: Uint8Array): void {
    if (bytes === LINE_BREAK) return this.#endLine();
    if (this.#isTooLarge) return;
    const isFirst = this.#line === undefined && this.#longLine === undefined;
    if (isFirst && bytes.length <= MAX_WHOLE_BYTES) this.#line = bytes;
    else this.#openLongLine().add(bytes);
  }

  /** For the reader of the fields. */
  onEvent(event: string | undefined): void {
    if (!this.#fields.hasData) return;
    this.#endLine();
    const data = this.#data ?? "";
    const isRead = !this.#isTooLarge;
    this.#data = undefined;
    this.#isTooLarge = false;
    if (isRead) this.#onEvent({ event, data, id: this.#fields.lastId });
  }

  #openLongLine(): PartialLine {
    this.#longLine ??= new PartialLine();
    if (this.#line !== undefined) this.#longLine.add(this.#line);
    this.#line = undefined;
    return this.#longLine;
  }

  #endLine(): void {
    const text = this.#longLine?.decode() ?? (this.#line === undefined ? "" : decoder.decode(this.#line));
    this.#line = undefined;
    this.#longLine = undefined;
    const data = this.#data === undefined ? text : `${this.#data}\n${text}`;
    this.#isTooLarge ||= data.length > MAX_EVENT_CHARACTERS;
    this.#data = this.#isTooLarge ? undefined : data;
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
