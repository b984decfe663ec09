import { createLineSplitter } from "./split-lines.js";

/** One server-sent event. Of a very long `data` line the middle is left out. */
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
  let lastId: string | undefined;
  let fields: Fields | undefined;
  let isAtBeginning = true;
  let isTooLarge = false;

  const endEvent = (): void => {
    const { event, id, data } = fields ?? {};
    const isRead = data !== undefined && !isTooLarge;
    fields = undefined;
    isTooLarge = false;
    if (!isRead) return;
    lastId = id ?? lastId;
    onEvent({ event, data, id: lastId });
  };

  const lines = createLineSplitter((whole) => {
    const line = isAtBeginning && whole.startsWith(BYTE_ORDER_MARK) ? whole.slice(1) : whole;
    isAtBeginning = false;
    if (line === "") return endEvent();
    if (line.startsWith(":")) return;
    fields ??= { event: undefined, id: undefined, data: undefined };
    if (!isTooLarge) readField(line, fields);
    // Larger than any event of a provider: it is relayed and not read; with its end reading goes on.
    if (fields.data === undefined || fields.data.length <= MAX_DATA_CHARACTERS) return;
    fields.data = undefined;
    isTooLarge = true;
  });

  return {
    push: (chunk) => lines.push(chunk),
    get isInsideEvent() {
      return fields !== undefined || !lines.atLineStart;
    },
  };
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
