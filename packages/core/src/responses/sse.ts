import { createParser, type EventSourceParser } from "eventsource-parser";
import { type BodyKind, detectBody } from "../upstream/body-kind.js";
import { type Awaitable, startNextTurn } from "../util/async.js";
import { encodeText } from "../util/utf8.js";
import { type AbandonedStream, Relay, type RelayEnding } from "./relay.js";
import { decodeLines, LineSplitter } from "./sse-lines.js";

/** One server-sent event. In `data` lines longer than 16 KiB, strings longer than 8 KiB are shortened. */
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

/** How a relayed stream ended, and the first error that `onEvent` threw, if any. An error in `onEvent` does not stop the relay. */
export type RelayEnd = RelayEnding & { readonly readError?: unknown };

/** What {@link relaySse} does with a stream beside relaying it. */
export interface RelayOptions {
  /** Called with each event when it is complete. The bytes are relayed whatever they contain. */
  readonly onEvent?: ((event: SseEvent) => void) | undefined;
  /**
   * Returns true when the event with the final result has arrived. That event and what follows it are sent when `onEnd`
   * has resolved, or after a second if the source does not end.
   */
  readonly isLast?: (() => boolean) | undefined;
  /** Called once. The relayed stream ends only after the returned promise has resolved. */
  readonly onEnd?: ((end: RelayEnd) => void | Promise<void>) | undefined;
  /** Called when the reader leaves early. Without it, the rest of the source is not read. */
  readonly onAbandoned?: ((stream: AbandonedStream) => void) | undefined;
  /** Returns the event that is sent if the source breaks off between two events. Without it, the error is thrown. */
  readonly renderFailure?: ((error: unknown) => string) | undefined;
  /** Sends a comment after this many milliseconds without a byte, between events only. Default: no comments. */
  readonly heartbeatMs?: number | undefined;
  /** Ends the source at once, even while a read is pending. */
  readonly cancel?: (() => void) | undefined;
}
/** The comment that is sent in a silent stream. */
export const HEARTBEAT = ": keep-alive\n\n";

/**
 * Relays a stream of server-sent events. The bytes are passed on unchanged, chunk by chunk as the reader asks for them,
 * and the events in them are reported. If the source breaks off inside an event, the relay throws: an event appended
 * there would become part of the incomplete one.
 *
 * @example
 * ```ts
 * import { relaySse } from "@calotype/core/sse";
 *
 * async function* source() {
 *   yield new TextEncoder().encode("event: greeting\ndata: hello\n\n");
 * }
 * for await (const chunk of relaySse(source(), { onEvent: ({ data }) => data === "hello" })) chunk.length;
 * ```
 */
export function relaySse(
  source: AsyncIterable<Uint8Array>,
  options: RelayOptions = {},
): AsyncIterableIterator<Uint8Array> {
  return relayBody(source, { ...options, createReader: (onEvent) => new EventReader(onEvent) });
}

/** Changes the bytes of a stream on their way. Every method returns what is sent. */
export interface StreamTranslation {
  /** Called for each chunk, after its events were reported. */
  push(chunk: Uint8Array): Awaitable<readonly Uint8Array[]>;
  /** Called when the source has ended. Throws if it ended too early; then the source counts as failed. */
  checkEnd(): void;
  /** Called when the source has ended and `onEnd` has resolved. */
  end(): readonly Uint8Array[];
  /** Called if the source fails. If it returns `undefined`, the error is thrown. */
  fail(error: unknown): Uint8Array | undefined;
  /** Called after `heartbeatMs` without data. */
  beat(): readonly Uint8Array[];
}

/** A reader that counts the lines of its stream. */
interface LineReader extends SseReader {
  readonly lines: number;
}

/** How a body is relayed that may not contain events, or whose events are changed. */
export interface BodyOptions extends RelayOptions {
  readonly createReader: (onEvent: (event: SseEvent) => void) => LineReader;
  /** Default: the bytes are passed on unchanged. */
  readonly translation?: StreamTranslation | undefined;
}

/** As {@link relaySse}, with another reader. */
export function relayBody(
  source: AsyncIterable<Uint8Array>,
  { createReader, translation, ...options }: BodyOptions,
): AsyncIterableIterator<Uint8Array> {
  let readError: unknown;
  const reader = createReader((event) => {
    try {
      options.onEvent?.(event);
    } catch (error) {
      readError ??= error;
    }
  });
  const { isLast, onAbandoned, renderFailure, heartbeatMs, cancel } = options;
  let linesBefore = 0;
  const passPart = (chunk: Uint8Array): Awaitable<Uint8Array | readonly Uint8Array[]> => {
    reader.push(chunk);
    const passed = translation === undefined ? chunk : translation.push(chunk);
    if (reader.lines - linesBefore <= MAX_TURN_LINES) return passed;
    linesBefore = reader.lines;
    return startNextTurn().then(() => passed);
  };
  return new Relay(source, {
    pass: (chunk) => (chunk.length > MAX_CHUNK_BYTES ? passInParts(chunk, passPart) : passPart(chunk)),
    checkEnd: () => translation?.checkEnd(),
    passEnd: () => translation?.end() ?? [],
    isLast,
    onEnd: (end) => options.onEnd?.(readError === undefined ? end : { ...end, readError }),
    onAbandoned,
    passFailure(error) {
      if (translation !== undefined) return translation.fail(error);
      if (renderFailure === undefined || reader.isInsideEvent) return undefined;
      return encodeText(renderFailure(error));
    },
    beat: () => translation?.beat() ?? (reader.isInsideEvent ? [] : [encodeText(HEARTBEAT)]),
    heartbeatMs,
    cancel,
  });
}

/** After this number of lines, other work of the process comes first: they take up to 10 ms. */
const MAX_TURN_LINES = 4_096;
/** A larger chunk is read in parts. Chunks that Node reads from a socket have up to 64 KiB. */
const MAX_CHUNK_BYTES = 128 * 1024;

async function* passInParts(
  chunk: Uint8Array,
  passPart: (part: Uint8Array) => Awaitable<Uint8Array | readonly Uint8Array[]>,
): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < chunk.length; start += MAX_CHUNK_BYTES) {
    const passed = await passPart(chunk.subarray(start, start + MAX_CHUNK_BYTES));
    if (passed instanceof Uint8Array) yield passed;
    else yield* passed;
    await startNextTurn();
  }
}

/**
 * Calls `onEvent` with each event when its last line end has arrived, wherever the bytes are split. Holds at most one
 * event, and at most about a megabyte of it.
 */
export function createSseReader(onEvent: (event: SseEvent) => void): SseReader {
  return new EventReader(onEvent);
}

/** The listeners for a body that is labelled as events. */
export interface StreamBodyHandler {
  onEvent(event: SseEvent): void;
  /** Called with each chunk if the body is JSON although it is labelled as events. */
  onJson(chunk: Uint8Array): void;
}

/** An event is skipped if its lines, each shortened, have more characters than this. */
const MAX_EVENT_CHARACTERS = 1024 * 1024;
const BYTE_ORDER_MARK = "\uFEFF";

/**
 * `eventsource-parser` parses the events. It gets whole lines, whose long strings are shortened (see `sse-lines.ts`).
 * So it never buffers an incomplete line, and the end of an event never depends on the next chunk.
 *
 * A class, because thousands of streams may be open: an object with its own getter takes ten times the memory.
 */
class EventReader implements LineReader {
  lines = 0;
  readonly #onEvent: (event: SseEvent) => void;
  readonly #splitter: LineSplitter;
  readonly #parser: EventSourceParser;
  /** The events that the parser has found. */
  #found: SseEvent[] = [];
  #lastId: string | undefined;
  #hasFields = false;
  #eventCharacters = 0;

  constructor(onEvent: (event: SseEvent) => void) {
    this.#onEvent = onEvent;
    this.#splitter = new LineSplitter((line) => this.#readLine(line));
    this.#parser = createParser({
      onEvent: (event) => {
        this.#found.push({ event: event.event, data: event.data, id: this.#lastId });
      },
      // Called before `onEvent`, and for an event without data, too.
      onId: (id) => {
        this.#lastId = id;
      },
    });
  }

  push(chunk: Uint8Array): void {
    if (this.isInsideEvent || !this.#splitter.isWhole(chunk)) return this.#splitter.push(chunk);
    const text = decodeLines(chunk);
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) this.lines++;
    this.#parser.feed(text);
    this.#report();
  }

  get isInsideEvent(): boolean {
    return this.#hasFields || !this.#splitter.isAtLineStart;
  }

  #readLine(line: string): void {
    // The parser removes a byte order mark itself.
    const text = this.lines++ === 0 && line.startsWith(BYTE_ORDER_MARK) ? line.slice(1) : line;
    if (text !== "" && !text.startsWith(":")) {
      this.#hasFields = true;
      this.#eventCharacters += text.length;
      if (this.#eventCharacters > MAX_EVENT_CHARACTERS) return this.#parser.reset();
    }
    this.#parser.feed(`${line}\n`);
    if (text === "") this.#endEvent();
  }

  #endEvent(): void {
    this.#hasFields = false;
    this.#eventCharacters = 0;
    this.#report();
  }

  #report(): void {
    if (this.#found.length === 0) return;
    const found = this.#found;
    this.#found = [];
    for (const event of found) this.#onEvent(event);
  }
}

/** Reads a body that is labelled as events, and detects by its first bytes whether it contains events. */
export class StreamBodyReader implements LineReader {
  readonly #handler: StreamBodyHandler;
  #kind: BodyKind | undefined;
  #events: LineReader | undefined;
  /** Copies of the first chunks, until they tell the kind of the body. */
  #start: Uint8Array[] = [];

  constructor(handler: StreamBodyHandler) {
    this.#handler = handler;
  }

  push(chunk: Uint8Array): void {
    if (this.#kind !== undefined) return this.#read(chunk);
    // Copied, because the chunk is passed on. `slice` of a `Buffer` would be a view.
    this.#start.push(new Uint8Array(chunk));
    this.#kind = detectBody(this.#start);
    if (this.#kind === undefined) return;
    for (const part of this.#start.splice(0)) this.#read(part);
  }

  get lines(): number {
    return this.#events?.lines ?? 0;
  }

  get isInsideEvent(): boolean {
    if (this.#kind === "json") return true;
    return this.#events?.isInsideEvent ?? this.#start.length > 0;
  }

  #read(chunk: Uint8Array): void {
    if (this.#kind === "json") return this.#handler.onJson(chunk);
    this.#events ??= new EventReader((event) => this.#handler.onEvent(event));
    this.#events.push(chunk);
  }
}
