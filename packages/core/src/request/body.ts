import { GatewayError, invalidRequest, isGatewayError, overloaded } from "../errors.js";
import type { GatewayRequest } from "../http.js";
import type { EverySecond } from "../util/async.js";
import { type ChunkFlow, type ChunkSink, NO_CHUNKS, openFlow, pull } from "../util/chunk-flow.js";
import { freeChunk } from "../util/free-chunk.js";

/** What is done with the body of a request. */
export interface BodyReader<Result> {
  /**
   * Takes a chunk. If the result is a promise, the next chunk waits for it. An error ends the reading.
   */
  take(chunk: Uint8Array): Promise<void> | undefined;
  /** Called after the last chunk. */
  end(): Result | Promise<Result>;
}

/** Counts the bytes of one request as they arrive. */
export interface RequestBytes {
  /** The most bytes that all requests may hold together. */
  readonly maxBytes: number;
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
  readonly everySecond: EverySecond;
}

/** The limits of a body. Without them no bytes are counted and a slow body is not ended; for tests. */
export interface BodyGuard {
  readonly bytes: RequestBytes;
  readonly pace: BodyPace;
}

/**
 * Reads the body of a request to its end. Chunks from `node:http` are passed on without a promise for each of them.
 *
 * @returns what `end` returns
 * @throws GatewayError `request_timeout` for a body that is too slow, `overloaded` if its bytes do not fit,
 * `client_closed_request` if the host's body failed; and what the reader throws. Then the rest is not read, and the host
 * is not waited for.
 */
export function receiveBody<Result>(
  { body }: Pick<GatewayRequest, "body">,
  reader: BodyReader<Result>,
  guard?: BodyGuard,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    new BodyReceiver(openBody(body), reader, resolve, reject).start(guard);
  });
}

class BodyReceiver<Result> implements ChunkSink, Progress {
  readonly #source: ChunkFlow;
  readonly #reader: BodyReader<Result>;
  readonly #resolve: (result: Result | Promise<Result>) => void;
  readonly #reject: (error: unknown) => void;
  #bytes: RequestBytes | undefined;
  received = 0;
  isWaiting = true;
  #isOver = false;
  #stopClock: (() => void) | undefined;

  constructor(
    source: ChunkFlow,
    reader: BodyReader<Result>,
    resolve: (result: Result | Promise<Result>) => void,
    reject: (error: unknown) => void,
  ) {
    this.#source = source;
    this.#reader = reader;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(guard: BodyGuard | undefined): void {
    if (guard !== undefined) {
      this.#bytes = guard.bytes;
      this.#bytes.startReceiving();
      this.#stopClock = watchPace(guard.pace, this);
    }
    this.#source.flow(this);
  }

  chunk(chunk: Uint8Array): boolean {
    if (this.#isOver) return false;
    this.received += chunk.length;
    try {
      const bytes = this.#bytes;
      if (bytes?.add(chunk.length) === false) throw noRoom(bytes, this.received);
      const taken = this.#reader.take(chunk);
      if (taken === undefined) return true;
      this.isWaiting = false;
      taken.then(
        () => this.#goOn(),
        (error: unknown) => this.leave(error),
      );
    } catch (error) {
      this.leave(error);
    }
    return false;
  }

  end(): void {
    if (this.#isOver) return;
    this.#finish();
    try {
      this.#resolve(this.#reader.end());
    } catch (error) {
      this.#reject(error);
    }
  }

  fail(cause: unknown): void {
    this.leave(isGatewayError(cause) ? cause : cutOff(cause));
  }

  leave(error: unknown): void {
    if (this.#isOver) return;
    this.#finish();
    void leaveQuietly(this.#source);
    this.#reject(error);
  }

  #goOn(): void {
    if (this.#isOver) return;
    this.isWaiting = true;
    this.#source.flow(this);
  }

  #finish(): void {
    this.#isOver = true;
    this.#stopClock?.();
    this.#bytes?.finishReceiving();
  }
}

/**
 * Reads all bytes of a request's body, at most `maxBytes`, and converts them.
 *
 * @throws GatewayError `request_too_large`; `invalid_request_error` for a body shorter than its
 * `content-length`, which a proxy may have cut; and what {@link receiveBody} and `convert` throw
 */
export function readBody<Result>(
  request: GatewayRequest,
  { maxBytes, guard, convert }: ReadBodyOptions<Result>,
): Promise<Result> {
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > maxBytes) return Promise.reject(tooLarge(maxBytes));
  return receiveBody(request, new WholeBody(declared, maxBytes, convert), guard);
}

interface ReadBodyOptions<Result> {
  readonly maxBytes: number;
  readonly guard: BodyGuard | undefined;
  readonly convert: (bytes: Uint8Array) => Result;
}

class WholeBody<Result> implements BodyReader<Result> {
  readonly #bytes: BodyBytes;
  readonly #declared: number;
  readonly #maxBytes: number;
  readonly #convert: (bytes: Uint8Array) => Result;

  constructor(declared: number, maxBytes: number, convert: (bytes: Uint8Array) => Result) {
    this.#bytes = new BodyBytes(declared);
    this.#declared = declared;
    this.#maxBytes = maxBytes;
    this.#convert = convert;
  }

  take(chunk: Uint8Array): undefined {
    if (this.#bytes.length + chunk.length > this.#maxBytes) throw tooLarge(this.#maxBytes);
    this.#bytes.add(chunk);
  }

  end(): Result {
    const { length } = this.#bytes;
    if (length < this.#declared) {
      throw invalidRequest(`The body was cut on its way: ${length} of ${this.#declared} bytes arrived.`);
    }
    return this.#convert(this.#bytes.take());
  }
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

  /** Adds a chunk. It may be freed when it has been copied. */
  add(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    if (this.#length > 0) return this.#copy(chunk);
    this.#only = chunk;
    this.#length = chunk.length;
  }

  /** All bytes as one array. */
  take(): Uint8Array {
    return this.#only ?? this.#whole?.subarray(0, this.#length) ?? new Uint8Array();
  }

  #copy(chunk: Uint8Array): void {
    const whole = this.#reserve(this.#length + chunk.length);
    whole.set(chunk, this.#length);
    this.#length += chunk.length;
    freeChunk(chunk);
  }

  /** Returns the array with the bytes so far, and with room for `needed` bytes. */
  #reserve(needed: number): Uint8Array {
    const present = this.#only ?? this.#whole;
    if (this.#whole !== undefined && this.#whole.length >= needed) return this.#whole;
    const grown = new Uint8Array(this.#sizeFor(needed));
    if (present !== undefined) grown.set(present.subarray(0, this.#length));
    if (this.#only !== undefined) freeChunk(this.#only);
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

/**
 * A Web stream is read by its reader, because `cancel` of a reader works while a read is pending. `return` of an async
 * iterator may wait for the pending `next`, which may never come; so it is called and not waited for.
 */
function openBody(body: GatewayRequest["body"]): ChunkFlow {
  if (body === null) return NO_CHUNKS;
  if (!isWebStream(body)) return openFlow(body);
  if (body.locked) throw bodyAlreadyRead();
  const reader = body.getReader();
  return { flow: (sink) => void pull(() => reader.read(), sink), leave: () => reader.cancel() };
}

/** Not awaited. The request already has its response, so an error of the rest of the body does not matter. */
async function leaveQuietly(source: ChunkFlow): Promise<void> {
  try {
    await source.leave();
  } catch {
    // Nothing of the body is read any more.
  }
}

function isWebStream(body: AsyncIterable<Uint8Array>): body is ReadableStream<Uint8Array> {
  return "getReader" in body && typeof body.getReader === "function";
}

interface Progress {
  /** The number of bytes that have arrived. */
  readonly received: number;
  /**
   * False while the gateway processes what has arrived, for example while it writes to a disk. That time does not
   * count.
   */
  readonly isWaiting: boolean;
  /** Ends the reading. */
  leave(error: unknown): void;
}

/**
 * Checks once a second how many bytes arrived in the last `seconds`.
 *
 * @returns a function that stops the checks
 */
function watchPace({ minBytesPerSecond, seconds, everySecond }: BodyPace, progress: Progress): () => void {
  /** For each of the last seconds: the number of bytes that had arrived when it began. Most bodies arrive at once. */
  let totals: number[] | undefined;
  return everySecond(() => {
    if (!progress.isWaiting) return;
    totals ??= [0];
    totals.push(progress.received);
    if (totals.length <= seconds) return;
    const before = totals.shift() ?? 0;
    if (progress.received - before < minBytesPerSecond * seconds) {
      progress.leave(tooSlow(minBytesPerSecond, seconds));
    }
  });
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

/** The error of a body whose bytes were refused. One that can never fit must not be sent again. */
export function noRoom({ maxBytes }: RequestBytes, length: number): GatewayError {
  return length > maxBytes ? tooLarge(maxBytes) : overloaded();
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
