import { type BodyKind, detectBody } from "./detect-body.js";
import { createSseReader, type SseEvent, type SseReader } from "./read-sse.js";

/** The listeners for the content of a body that is labelled as events. */
export interface StreamBodyHandler {
  onEvent(event: SseEvent): void;
  /** Called with each chunk if the body is JSON although it is labelled as events. */
  onJson(chunk: Uint8Array): void;
}

/** Reads a body that is labelled as events, and detects by its first bytes whether it is. */
export function createStreamBodyReader(handler: StreamBodyHandler): SseReader {
  return new StreamBodyReader(handler);
}

/** A class, because thousands of streams may be open: an object with its own getter takes ten times the memory. */
class StreamBodyReader implements SseReader {
  readonly #handler: StreamBodyHandler;
  #kind: BodyKind | undefined;
  #events: SseReader | undefined;
  /** Copies of the first chunks, until they tell the kind of the body. */
  #start: Uint8Array[] = [];

  constructor(handler: StreamBodyHandler) {
    this.#handler = handler;
  }

  push(chunk: Uint8Array): void {
    if (this.#kind !== undefined) return this.#read(chunk);
    // Copied, because the chunk may be freed. `slice` of a `Buffer` would be a view.
    this.#start.push(new Uint8Array(chunk));
    this.#kind = detectBody(this.#start);
    if (this.#kind === undefined) return;
    for (const part of this.#start.splice(0)) this.#read(part);
  }

  get isInsideEvent(): boolean {
    if (this.#kind === "json") return true;
    return this.#events?.isInsideEvent ?? this.#start.length > 0;
  }

  #read(chunk: Uint8Array): void {
    if (this.#kind === "json") return this.#handler.onJson(chunk);
    this.#events ??= createSseReader((event) => this.#handler.onEvent(event));
    this.#events.push(chunk);
  }
}
