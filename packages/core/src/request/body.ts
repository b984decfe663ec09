import { GatewayError, invalidRequest, isGatewayError, overloaded } from "../errors.js";
import type { GatewayRequest } from "../http.js";
import type { Repeat } from "../util/async.js";

/** The body of one request while it arrives. */
export interface IncomingBody {
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
  readonly repeat: Repeat;
}

/** The limits of a body. Without them no bytes are counted and a slow body is not ended; for tests. */
export interface BodyGuard {
  readonly bytes: ArrivingBytes;
  readonly pace: BodyPace;
}

/**
 * Opens the body of a request. Nothing is read before the first `next`, but a body from `node:http` starts to flow.
 *
 * Each body has a timer of its own, because Workers stop the timers of a request when that request ends.
 */
export function openBody({ body }: Pick<GatewayRequest, "body">, guard?: BodyGuard): IncomingBody {
  const source = body === null ? emptySource : openSource(body);
  let received = 0;
  let isOver = false;
  let stopClock: (() => void) | undefined;
  /** Rejects the pending `next`. */
  let abandon: ((error: GatewayError) => void) | undefined;

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
  return {
    next() {
      start();
      return new Promise((resolve, reject) => {
        abandon = reject;
        source.next().then(
          ({ done, value }) => {
            abandon = undefined;
            if (isOver) return resolve(undefined);
            if (done === true) {
              finish();
              return resolve(undefined);
            }
            received += value.length;
            if (guard?.bytes.add(value.length) === false) return reject(overloaded());
            return resolve(value);
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

/**
 * Reads all bytes of a request's body, at most `maxBytes`.
 *
 * @throws GatewayError `request_too_large`; `invalid_request_error` for a body shorter than its
 * `content-length`, which a proxy may have cut; and what {@link IncomingBody.next} throws
 */
export async function readBody(
  request: GatewayRequest,
  maxBytes: number,
  guard?: BodyGuard,
): Promise<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  const body = openBody(request, guard);
  const bytes = new BodyBytes(declared);
  try {
    for (let chunk = await body.next(); chunk !== undefined; chunk = await body.next()) {
      if (bytes.length + chunk.length > maxBytes) throw tooLarge(maxBytes);
      bytes.add(chunk);
    }
  } finally {
    body.cancel();
  }
  if (bytes.length < declared) {
    throw invalidRequest(`The body was cut on its way: ${bytes.length} of ${declared} bytes arrived.`);
  }
  return bytes.take();
}

/** The first allocation for a body that arrives in several chunks. */
const FIRST_BYTES = 64 * 1024;
/** When a body needs more memory, its allocation grows by this factor. Pages that are not written to take no memory. */
const GROWTH = 4;
/**
 * Once this part of the declared bytes has arrived, the array gets its final size. So at most a third of a body is
 * copied again as the array grows. With growth alone it may be nearly all of it, and the body is held twice meanwhile.
 */
const FINAL_SIZE_FROM = 1 / 16;

/**
 * Collects the bytes of a body. Chunks are copied into one array, so that many small chunks take no more memory than
 * their bytes. The array grows with the bytes that have arrived. It grows to at most `declared`, or, if more bytes
 * arrive, by as little as possible. So a client that declares many bytes and sends few of them uses little memory.
 *
 * What it gains: 8 bodies of 16 MB at once need half the memory. The simple version is a list of chunks and
 * `Buffer.concat`, which has every body in memory twice.
 */
export class BodyBytes {
  readonly #declared: number;
  /** The first chunk, while it is the only one. It is not copied. */
  #only: Uint8Array | undefined;
  #whole: Uint8Array | undefined;
  #length = 0;

  /** @param declared the content-length; may be wrong or NaN */
  constructor(declared: number) {
    this.#declared = declared;
  }

  get length(): number {
    return this.#length;
  }

  add(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    if (this.#length === 0) this.#only = chunk;
    else this.#copy(chunk);
    this.#length += chunk.length;
  }

  /** All bytes as one array. */
  take(): Uint8Array {
    return this.#only ?? this.#whole?.subarray(0, this.#length) ?? new Uint8Array();
  }

  #copy(chunk: Uint8Array): void {
    const whole = this.#reserve(this.#length + chunk.length);
    whole.set(chunk, this.#length);
  }

  /** Returns the array with the bytes so far, and with room for `needed` bytes. */
  #reserve(needed: number): Uint8Array {
    const present = this.#only ?? this.#whole;
    if (this.#whole !== undefined && this.#whole.length >= needed) return this.#whole;
    const grown = new Uint8Array(this.#sizeFor(needed));
    if (present !== undefined) grown.set(present.subarray(0, this.#length));
    this.#only = undefined;
    this.#whole = grown;
    return grown;
  }

  /** How large the array becomes when it must hold `needed` bytes. */
  #sizeFor(needed: number): number {
    const wanted = Math.max(FIRST_BYTES, this.#length * GROWTH, needed);
    // Also if nothing was declared.
    if (!(needed <= this.#declared)) return wanted;
    return this.#length >= this.#declared * FINAL_SIZE_FROM
      ? this.#declared
      : Math.min(this.#declared, wanted);
  }
}

interface Source {
  next(): Promise<IteratorResult<Uint8Array, unknown>>;
  cancel(): void;
}

const emptySource: Source = {
  next: () => Promise.resolve({ done: true, value: undefined }),
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

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError("request_too_large", `The body is larger than ${maxBytes} bytes.`);
}

/** The error of a request whose body was read before the gateway got it. */
export function bodyAlreadyRead(): GatewayError {
  return new GatewayError(
    "body_already_read",
    "A body parser of this server read the request's body before the image gateway. The operator must mount the gateway before the body parser.",
    { shouldRetry: false },
  );
}
