import { createSseReader, type SseEvent } from "./read-sse.js";

/** How a relayed stream ended, and the first error that `onEvent` threw, if any: no reader stops the relay. */
export type RelayEnd = RelayEnding & { readonly readError?: unknown };

type RelayEnding =
  /** The provider's stream came to its end. */
  | { readonly reason: "complete" }
  /** It broke off; the error is the body's. */
  | { readonly reason: "failed"; readonly error: unknown }
  /** It was given up before its end. */
  | { readonly reason: "abandoned" };

/** A stream whose client left, for whoever decides whether the rest is worth reading. */
export interface AbandonedStream {
  /** Reads the rest to its end, for the events. */
  readonly readToEnd: () => Promise<void>;
  /** Reads no further: `onEnd` is called with `abandoned`. */
  readonly giveUp: () => Promise<void>;
}

/** What {@link relaySse} tells of the stream it relays. */
export interface RelayOptions {
  /** Each event, as soon as it is complete. Bytes are relayed whatever is in them. */
  readonly onEvent?: ((event: SseEvent) => void) | undefined;
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
  const chunks = source[Symbol.asyncIterator]();
  let readError: unknown;
  const reader = createSseReader((event) => {
    try {
      options.onEvent?.(event);
    } catch (error) {
      readError ??= error;
    }
  });
  let pending: Promise<IteratorResult<Uint8Array>> | undefined;
  let end: Promise<void> | undefined;
  let isAbandoned = false;

  const tellEnd = async (how: RelayEnding): Promise<void> => {
    await options.onEnd?.(readError === undefined ? how : { ...how, readError });
  };

  const finish = (how: RelayEnding): Promise<void> => {
    end ??= tellEnd(how);
    return end;
  };

  /** Ends the source. Nobody waits for it: a generator ends only after its pending read. */
  const stop = async (): Promise<void> => {
    try {
      options.cancel?.();
      await chunks.return?.();
    } catch {
      // It is given up; how it failed is of no use to anyone.
    }
  };

  /** The next chunk, read for its events; at the end and at a failure whoever waits is told first. */
  const pull = async (): Promise<IteratorResult<Uint8Array>> => {
    try {
      const result = await chunks.next();
      if (result.done === true) await finish({ reason: "complete" });
      else reader.push(result.value);
      return result;
    } catch (error) {
      void stop();
      await finish({ reason: "failed", error });
      throw error;
    }
  };

  const readToEnd = async (): Promise<void> => {
    try {
      for (;;) {
        const { done } = await pull();
        if (done === true) break;
      }
    } catch {
      // `onEnd` was told why; nobody else reads the stream any more.
    }
    await end;
  };

  const giveUp = async (): Promise<void> => {
    const ended = finish({ reason: "abandoned" });
    void stop();
    await ended;
  };

  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    if (end !== undefined || isAbandoned) return { done: true, value: undefined };
    pending ??= pull();
    if (
      options.heartbeatMs !== undefined &&
      !reader.isInsideEvent &&
      !(await isSettledWithin(pending, options.heartbeatMs))
    ) {
      return { done: false, value: new TextEncoder().encode(HEARTBEAT) };
    }
    try {
      return await pending;
    } catch (error) {
      if (reader.isInsideEvent || options.renderFailure === undefined) throw error;
      return { done: false, value: new TextEncoder().encode(options.renderFailure(error)) };
    } finally {
      pending = undefined;
    }
  };

  let turn: Promise<unknown> = Promise.resolve();

  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    /** One after another, as a generator does it: of two that ask at once each gets a chunk of its own. */
    next() {
      const result = turn.then(next);
      turn = result.catch(() => undefined);
      return result;
    },
    async return() {
      if (end !== undefined || isAbandoned) return { done: true, value: undefined };
      isAbandoned = true;
      if (options.onAbandoned === undefined) await giveUp();
      else options.onAbandoned({ readToEnd, giveUp });
      return { done: true, value: undefined };
    },
  };
}

/** Whether a promise settles, either way, in so many milliseconds. */
async function isSettledWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}
