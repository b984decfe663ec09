import { createParser } from "eventsource-parser";
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

/** An event is given up when its lines, each shortened, are larger than this together. */
const MAX_EVENT_CHARACTERS = 1024 * 1024;

/**
 * Calls `onEvent` for each event as soon as its last line end is in, however the bytes are cut. Never
 * holds more than one event, and of that at most about a megabyte.
 */
export function createSseReader(onEvent: (event: SseEvent) => void): SseReader {
  let lastId: string | undefined;
  let isTooLarge = false;
  const parser = createParser({
    onEvent: ({ event, data, id }) => {
      lastId = id ?? lastId;
      onEvent({ event, data, id: lastId });
    },
    onError: ({ type }) => {
      isTooLarge ||= type === "max-buffer-size-exceeded";
    },
    maxBufferSize: MAX_EVENT_CHARACTERS,
  });
  let hasFields = false;
  const lines = createLineSplitter((line) => {
    if (line === "") hasFields = false;
    else if (!line.startsWith(":")) hasFields = true;
    if (!isTooLarge) parser.feed(`${line}\n`);
    // Larger than any event of a provider: it is relayed and not read; with its end reading goes on.
    if (isTooLarge && line === "") {
      parser.reset();
      isTooLarge = false;
    }
  });
  return {
    push: (chunk) => lines.push(chunk),
    get isInsideEvent() {
      return hasFields || !lines.atLineStart;
    },
  };
}
