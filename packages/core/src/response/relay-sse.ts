import { settlesWithin } from "../settles-within.js";
import { createSseReader, type SseEvent } from "./read-sse.js";
import { type AbandonedStream, Relay, type RelayEnding, toIterator } from "./relay.js";

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
  let readError: unknown;
  const reader = createSseReader((event) => {
    try {
      options.onEvent?.(event);
    } catch (error) {
      readError ??= error;
    }
  });
  const relay = new Relay(source, {
    ...options,
    pass(chunk) {
      reader.push(chunk);
      return [chunk];
    },
    onEnd: (end) => options.onEnd?.(readError === undefined ? end : { ...end, readError }),
  });
  const { heartbeatMs, renderFailure } = options;
  let pending: ReturnType<Relay["take"]> | undefined;

  const take: Relay["take"] = async () => {
    pending ??= relay.take();
    const mayBeat = heartbeatMs !== undefined && !reader.isInsideEvent;
    if (mayBeat && !(await settlesWithin(pending, heartbeatMs))) return toChunk(HEARTBEAT);
    try {
      return await pending;
    } catch (error) {
      if (reader.isInsideEvent || renderFailure === undefined) throw error;
      return toChunk(renderFailure(error));
    } finally {
      pending = undefined;
    }
  };

  return toIterator(take, () => relay.leave());
}

function toChunk(text: string): IteratorResult<Uint8Array, undefined> {
  return { done: false, value: new TextEncoder().encode(text) };
}
