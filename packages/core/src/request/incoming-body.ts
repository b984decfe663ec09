import { takeWhole } from "../bytes/chunk-queue.js";
import type { Dependencies } from "../dependencies.js";
import { GatewayError, isGatewayError } from "../errors.js";
import type { GatewayRequest } from "../exchange.js";
import { bodyAlreadyRead } from "./body-already-read.js";

/** The body of one request while it arrives. */
export interface IncomingBody {
  /**
   * All chunks, if the whole body has arrived and has at most `maxBytes`; otherwise `undefined`.
   * @throws GatewayError `overloaded`
   */
  takeWhole(maxBytes: number): readonly Uint8Array[] | undefined;
  /**
   * The next chunk, or `undefined` at the end.
   * @throws GatewayError `request_timeout` for a body that is too slow, `overloaded` if its bytes do not fit,
   * `client_closed_request` if the host's body failed
   */
  next(): Promise<Uint8Array | undefined>;
  /** Stops reading. Never waits for the host. Does nothing after the end of the body. */
  cancel(): void;
}

/** Counts the bytes of one request as they arrive. */
export interface ArrivingBytes {
  /** Counts more bytes. Returns false if they do not fit; then none are counted. */
  add(bytes: number): boolean;
  /** Call when the body has begun to arrive and is not complete. */
  startReceiving(): void;
  /** Call when the body is complete or is not read any further. */
  finishReceiving(): void;
}

/** The minimum speed of a body. */
export interface BodyPace {
  /** The bytes per second that must arrive on average in each period of `seconds`. */
  readonly minBytesPerSecond: number;
  readonly seconds: number;
  readonly repeat: Dependencies["repeat"];
}

/** The limits of a body. Without them no bytes are counted and a slow body is not ended; for tests. */
export interface BodyGuard {
  readonly bytes: ArrivingBytes;
  readonly pace: BodyPace;
}

/**
 * Opens the body of a request. Nothing is read before the first `next`, but a body from `node:http` starts to flow.
 *
 * Only a body that has not arrived whole gets a timer. It is a timer per body, not a shared one, because Workers stop
 * the timers of a request when that request ends.
 */
export function openBody({ body }: Pick<GatewayRequest, "body">, guard?: BodyGuard): IncomingBody {
  const source = body === null ? emptySource : openSource(body);
  let received = 0;
  let isOver = false;
  let stopClock: (() => void) | undefined;
  /** Rejects the pending `next`. */
  let abandon: ((error: GatewayError) => void) | undefined;

  const count = (length: number): void => {
    received += length;
    if (guard?.bytes.add(length) === false) throw overloaded();
  };
  const start = (): void => {
    if (guard === undefined || stopClock !== undefined || isOver) return;
    guard.bytes.startReceiving();
    stopClock = watchPace(guard.pace, {
      received: () => received,
      isWaiting: () => abandon !== undefined,
      onSlow: (error) => abandon?.(error),
    });
  };
  const finish = (): void => {
    isOver = true;
    stopClock?.();
    guard?.bytes.finishReceiving();
  };
  /** The result of `next`. */
  const accept = ({ done, value }: IteratorResult<Uint8Array, unknown>): Uint8Array | undefined => {
    abandon = undefined;
    if (isOver) return undefined;
    if (done === true) {
      finish();
      return undefined;
    }
    count(value.length);
    return value;
  };

  return {
    takeWhole(maxBytes) {
      const chunks = source.takeWhole?.(maxBytes);
      if (chunks === undefined) return undefined;
      count(chunks.reduce((sum, { length }) => sum + length, 0));
      finish();
      return chunks;
    },
    next() {
      start();
      return new Promise((resolve, reject) => {
        abandon = reject;
        // Not an async function, which would create two promises for each chunk.
        source.next().then(
          // oxlint-disable-next-line promise/always-return -- It settles the promise around it.
          (result) => {
            try {
              resolve(accept(result));
            } catch (error) {
              reject(error);
            }
          },
          (cause: unknown) => reject(isGatewayError(cause) ? cause : cutOff(cause)),
        );
      });
    },
    cancel() {
      if (isOver) return;
      finish();
      source.cancel();
      abandon?.(cutOff());
    },
  };
}

interface Source {
  next(): Promise<IteratorResult<Uint8Array, unknown>>;
  takeWhole?(maxBytes: number): readonly Uint8Array[] | undefined;
  cancel(): void;
}

const emptySource: Source = {
  next: () => Promise.resolve({ done: true, value: undefined }),
  takeWhole: () => [],
  cancel: () => undefined,
};

/**
 * A Web stream is read by its reader, because `cancel` of a reader works while a read is pending. `return` of an async
 * iterator may wait for the pending `next`, which may never come; so it is called and not waited for.
 */
function openSource(body: AsyncIterable<Uint8Array>): Source {
  if (isWebStream(body)) {
    if (body.locked) throw bodyAlreadyRead();
    const reader = body.getReader();
    return { next: () => reader.read(), cancel: () => void reader.cancel().catch(ignoreFailure) };
  }
  const chunks = body[Symbol.asyncIterator]();
  const leave = async (): Promise<void> => void (await chunks.return?.());
  return {
    next: () => chunks.next(),
    takeWhole: (maxBytes) => takeWhole(chunks, maxBytes),
    cancel: () => void leave().catch(ignoreFailure),
  };
}

function isWebStream(body: AsyncIterable<Uint8Array>): body is ReadableStream<Uint8Array> {
  return "getReader" in body && typeof body.getReader === "function";
}

/** The request already has its response, so an error of the rest of the body does not matter. */
function ignoreFailure(): void {}

interface Progress {
  readonly received: () => number;
  /**
   * False while the gateway processes what has arrived, for example while it writes to a disk. That time does not
   * count.
   */
  readonly isWaiting: () => boolean;
  readonly onSlow: (error: GatewayError) => void;
}

const SECOND_MS = 1_000;

/**
 * Checks once a second how many bytes arrived in the last `seconds`.
 *
 * @returns a function that stops the checks
 */
function watchPace({ minBytesPerSecond, seconds, repeat }: BodyPace, progress: Progress): () => void {
  /** For each of the last seconds: the number of bytes that had arrived when it began. */
  const totals = [progress.received()];
  return repeat(() => {
    if (!progress.isWaiting()) return;
    totals.push(progress.received());
    if (totals.length <= seconds) return;
    const before = totals.shift() ?? 0;
    if (progress.received() - before < minBytesPerSecond * seconds) {
      progress.onSlow(tooSlow(minBytesPerSecond, seconds));
    }
  }, SECOND_MS);
}

function tooSlow(minBytesPerSecond: number, seconds: number): GatewayError {
  return new GatewayError(
    "request_timeout",
    `The body arrived too slowly: fewer than ${minBytesPerSecond} bytes per second over ${seconds} seconds. Send it again.`,
  );
}

function cutOff(cause?: unknown): GatewayError {
  return new GatewayError("client_closed_request", "The body ended before it was complete.", { cause });
}

/** The 503 for a request whose bytes do not fit. */
export function overloaded(): GatewayError {
  return new GatewayError(
    "overloaded",
    "This server has no room for more bytes of requests: try again soon.",
    { retryAfterSeconds: 1 },
  );
}
