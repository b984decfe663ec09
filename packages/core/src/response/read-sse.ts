import { LineSplitter } from "./split-lines.js";

/** One server-sent event. In `data` lines longer than 16 KiB, strings longer than 8 KiB are shortened. */
export interface SseEvent {
  readonly event?: string | undefined;
  readonly data: string;
  /** The last id that the stream gave, with this event or before it. */
  readonly id?: string | undefined;
}

/** Reads events out of bytes that go elsewhere. */
export interface SseReader {
  push(chunk: Uint8Array): void;
  /** True when an event has begun and not ended: text put here would become part of it. */
  readonly isInsideEvent: boolean;
}

/** An event is given up when its data, with each line shortened, is larger than this. */
const MAX_DATA_CHARACTERS = 1024 * 1024;
const BYTE_ORDER_MARK = "\uFEFF";

/** The fields of an event that has begun. */
interface Fields {
  event: string | undefined;
  id: string | undefined;
  data: string | undefined;
}

/**
 * Calls `onEvent` for each event as soon as its last line end is in, however the bytes are cut. Never
 * holds more than one event, and of that at most about a megabyte.
 */
export function createSseReader(onEvent: (event: SseEvent) => void): SseReader {
  return new EventReader(onEvent);
}

/** A class, as thousands of streams may be open: an object with a getter of its own takes ten times the memory. */
class EventReader implements SseReader {
  readonly #onEvent: (event: SseEvent) => void;
  readonly #lines = new LineSplitter((line) => this.#read(line));
  #fields: Fields | undefined;
  #lastId: string | undefined;
  #isAtBeginning = true;
  #isTooLarge = false;

  constructor(onEvent: (event: SseEvent) => void) {
    this.#onEvent = onEvent;
  }

  push(chunk: Uint8Array): void {
    this.#lines.push(chunk);
  }

  get isInsideEvent(): boolean {
    return this.#fields !== undefined || !this.#lines.isAtLineStart;
  }

  #read(whole: string): void {
    const line = this.#isAtBeginning && whole.startsWith(BYTE_ORDER_MARK) ? whole.slice(1) : whole;
    this.#isAtBeginning = false;
    if (line === "") return this.#endEvent();
    if (line.startsWith(":")) return;
    this.#fields ??= { event: undefined, id: undefined, data: undefined };
    if (!this.#isTooLarge) readField(line, this.#fields);
    // Larger than any event of a provider: it is relayed and not read; with its end reading goes on.
    if ((this.#fields.data?.length ?? 0) <= MAX_DATA_CHARACTERS) return;
    this.#fields.data = undefined;
    this.#isTooLarge = true;
  }

  #endEvent(): void {
    const { event, id, data } = this.#fields ?? {};
    const isRead = data !== undefined && !this.#isTooLarge;
    this.#fields = undefined;
    this.#isTooLarge = false;
    if (!isRead) return;
    this.#lastId = id ?? this.#lastId;
    this.#onEvent({ event, data, id: this.#lastId });
  }
}

/** Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation */
function readField(line: string, fields: Fields): void {
  const colon = line.indexOf(":");
  const name = colon === -1 ? line : line.slice(0, colon);
  const space = line.startsWith(" ", colon + 1) ? 1 : 0;
  const value = colon === -1 ? "" : line.slice(colon + 1 + space);
  switch (name) {
    case "data":
      fields.data = fields.data === undefined ? value : `${fields.data}\n${value}`;
      break;
    case "event":
      fields.event = value === "" ? undefined : value;
      break;
    case "id":
      if (!value.includes("\0")) fields.id = value;
      break;
    default:
    // `retry` is for whoever connects again; all others mean nothing.
  }
}
