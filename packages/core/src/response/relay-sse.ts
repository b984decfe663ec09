import { createSseReader, type SseEvent, type SseReader } from "./read-sse.js";
import { type AbandonedStream, Relay, type RelayEnding } from "./relay.js";

/** How a relayed stream ended, and the first error that `onEvent` threw, if any: no reader stops the relay. */
export type RelayEnd = RelayEnding & { readonly readError?: unknown };

/** What {@link relaySse} tells of the stream it relays. */
export interface RelayOptions {
  /** Each event, as soon as it is complete. Bytes are relayed whatever is in them. */
  readonly onEvent?: ((event: SseEvent) => void) | undefined;
  /**
   * True when the event that counts has come, and nothing of weight is still to come. What is relayed from then on is
   * kept back until `onEnd` has resolved; for a second, where the source does not end.
   */
  readonly isLast?: (() => boolean) | undefined;
  /** Called once. The relayed stream ends only after it has resolved. */
  readonly onEnd?: ((end: RelayEnd) => void | Promise<void>) | undefined;
  /** The reader left early. Without it the rest is given up. */
  readonly onAbandoned?: ((stream: AbandonedStream) => void) | undefined;
  /** The event to end with when the source breaks off between two events. Without it the error is thrown. */
  readonly renderFailure?: ((error: unknown) => string) | undefined;
  /** A comment is sent after so many milliseconds without a byte, between events only. Default: none. */
  readonly heartbeatMs?: number | undefined;
  /** Ends the source at once, also while a read is pending. */
  readonly cancel?: (() => void) | undefined;
}

const encoder = new TextEncoder();
const HEARTBEAT = ": keep-alive\n\n";

/**
 * Relays a stream of server-sent events: bytes go through untouched, chunk by chunk as the reader
 * asks for them, and the events are read beside. A source that breaks off inside an event throws: an
 * event appended there would complete a half one.
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
  return relayBody(source, options, createSseReader);
}

/** The same with the caller's own reader, for bodies that may not be events. */
export function relayBody(
  source: AsyncIterable<Uint8Array>,
  options: RelayOptions,
  createReader: (onEvent: (event: SseEvent) => void) => SseReader,
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
  return new Relay(source, {
    pass(chunk) {
      reader.push(chunk);
      return [chunk];
    },
    isLast,
    onEnd: (end) => options.onEnd?.(readError === undefined ? end : { ...end, readError }),
    onAbandoned,
    passFailure(error) {
      if (renderFailure === undefined || reader.isInsideEvent) return undefined;
      return encoder.encode(renderFailure(error));
    },
    beat: () => (reader.isInsideEvent ? [] : [encoder.encode(HEARTBEAT)]),
    heartbeatMs,
    cancel,
  });
}
