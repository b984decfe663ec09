import type { GatewayResponse } from "../http.js";
import type { Logger } from "../logger.js";
import { endsTimersWithRequests } from "../util/async.js";
import { createLinkedList, type Link } from "../util/linked-list.js";

/** Ends responses whose client does not read them, on every host. */
export interface ReaderLimit {
  /**
   * Watches the reader of a streamed body. A response with a complete body is returned unchanged.
   *
   * @param onLeft called when the reader stops before the end
   */
  watch(response: GatewayResponse, onLeft?: () => void): GatewayResponse;
}

/** @param idleMs how long a client may read nothing of a body, in milliseconds */
export function createReaderLimit(idleMs: number, logger: Logger): ReaderLimit {
  // Where a timer ends with its request, each response needs one of its own.
  const shared = endsTimersWithRequests() ? undefined : createStallWatch();
  return {
    watch(response, onLeft) {
      const { body } = response;
      if (typeof body === "string" || body instanceof Uint8Array) return response;
      const watched = new WatchedBody(body, {
        watch: shared ?? createStallWatch(),
        idleMs,
        logger,
        onLeft,
      });
      return { ...response, body: watched, onIdle: watched.onIdle };
    },
  };
}

interface LimitParts {
  readonly watch: StallWatch;
  readonly idleMs: number;
  readonly logger: Logger;
  readonly onLeft: (() => void) | undefined;
}

type Chunk = IteratorResult<Uint8Array, undefined>;
type IdleListener = (error: Error) => boolean;

const DONE: Chunk = { done: true, value: undefined };

/**
 * A body whose reader must request the next chunk in time. Time does not count while the reader waits for a chunk,
 * because then the provider is slow. The watch holds a reference to the body, so a response that the host dropped
 * without reading it is ended too, whether or not it was garbage-collected.
 */
class WatchedBody implements AsyncIterableIterator<Uint8Array, undefined>, Watched {
  quietSince = HEARD;
  maxQuietMs: number;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #parts: LimitParts;
  readonly #link: Link<Watched>;
  /** The number of reads of the host that are pending. */
  #pending = 0;
  /** Pieces of a large chunk that the host has not read yet. */
  #ready: Uint8Array[] = [];
  #listener: IdleListener | undefined;
  #failure: Error | undefined;
  #hasEnded = false;

  constructor(body: AsyncIterable<Uint8Array>, parts: LimitParts) {
    this.#chunks = body[Symbol.asyncIterator]();
    this.#parts = parts;
    this.maxQuietMs = parts.idleMs;
    this.#link = parts.watch.add(this);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  readonly onIdle = (listener: IdleListener): void => {
    this.#listener = listener;
  };

  next(): Promise<Chunk> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const piece = this.#ready.shift();
    if (piece !== undefined) {
      this.quietSince = HEARD;
      return Promise.resolve({ done: false, value: piece });
    }
    this.#pending++;
    this.maxQuietMs = 0;
    return this.#chunks.next().then(this.#receive, this.#fail);
  }

  /** The client has stopped reading. */
  async return(): Promise<Chunk> {
    this.#leaveWatch();
    if (!this.#hasEnded) this.#parts.onLeft?.();
    this.#ready = [];
    await this.#chunks.return?.();
    return DONE;
  }

  timeOut(): void {
    const { idleMs, logger } = this.#parts;
    const error = new Error(`The client read nothing of the response for ${idleMs / 1000} s.`);
    if (this.#mayWait(error)) {
      this.quietSince = HEARD;
      return;
    }
    this.#failure = error;
    this.return().catch((err: unknown) =>
      logger.error({ err }, "A response that no client reads could not be ended."),
    );
  }

  #mayWait(error: Error): boolean {
    try {
      return this.#listener?.(error) === true;
    } catch (err) {
      this.#parts.logger.error({ err }, "The host's onIdle listener failed.");
      return false;
    }
  }

  #end(): void {
    this.#hasEnded = true;
    this.#leaveWatch();
  }

  #leaveWatch(): void {
    this.#parts.watch.delete(this.#link);
  }

  readonly #receive = ({ done, value }: IteratorResult<Uint8Array, unknown>): Chunk => {
    this.#countResponses();
    if (done !== true) this.#ready.push(...splitChunk(value));
    else this.#end();
    // If two reads are pending, all pieces of the first read's chunk come before the chunk of the second read.
    const piece = this.#ready.shift();
    return piece === undefined ? DONE : { done: false, value: piece };
  };

  readonly #fail = (error: unknown): never => {
    this.#countResponses();
    this.#end();
    throw error;
  };

  #countResponses(): void {
    this.#pending--;
    if (this.#pending > 0) return;
    this.quietSince = HEARD;
    this.maxQuietMs = this.#parts.idleMs;
  }
}

/** The size of the pieces of a large chunk, in bytes. */
const PIECE_BYTES = 64 * 1024;

/**
 * Returns the chunk itself, or, if it is larger than 128 KiB, its pieces, which share its memory. A slow client can
 * read one piece within `responseIdleSeconds`, but not an image of many megabytes. Over TLS, a write shows no
 * progress until all of it is sent. Chunks that Node reads from a socket have about 64 KiB and are not split.
 */
function splitChunk(chunk: Uint8Array): readonly Uint8Array[] {
  if (chunk.length <= 2 * PIECE_BYTES) return [chunk];
  const pieces: Uint8Array[] = [];
  for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
    pieces.push(chunk.subarray(start, start + PIECE_BYTES));
  }
  return pieces;
}

/** Something that must make progress, such as the reader of a response. */
export interface Watched {
  /** Set this to {@link HEARD} at each sign of progress. The watch replaces it by the time of the next look. */
  quietSince: number;
  /** How long it may be quiet, in milliseconds; 0 while no progress is expected. */
  maxQuietMs: number;
  /** Called at each look after the time is over, until the entry is deleted. */
  timeOut(): void;
}

/** The value of {@link Watched.quietSince} after progress since the last look. */
export const HEARD = -1;

/** Times out entries that make no progress. One timer serves all entries. */
export interface StallWatch {
  add(entry: Watched): Link<Watched>;
  /** A second call with the same link does nothing. */
  delete(link: Link<Watched>): void;
}

const LOOK_MS = 250;
/**
 * A longer time between two looks counts as this much: data that arrived while the event loop was blocked was not
 * read yet.
 */
const MAX_STEP_MS = 2 * LOOK_MS;
/**
 * When the last look was longer ago than this, the timer has probably ended: on Workers a timer ends with the request
 * that created it.
 */
const DEAD_MS = 5_000;

/**
 * Looks at all entries every 250 ms, instead of one timer for each. Silence counts from the
 * first look that finds an entry quiet. So an entry is timed out up to two looks late and never early.
 */
export function createStallWatch(): StallWatch {
  const entries = createLinkedList<Watched>();
  let timer: ReturnType<typeof setInterval> | undefined;
  /** A clock that stands still while the event loop is blocked. */
  let clock = 0;
  let lookedAt = 0;

  const look = (): void => {
    const now = Math.floor(performance.now());
    clock += Math.min(now - lookedAt, MAX_STEP_MS);
    lookedAt = now;
    let isIdle = true;
    for (const entry of entries) {
      isIdle = false;
      const { quietSince, maxQuietMs } = entry;
      if (quietSince === HEARD) entry.quietSince = clock;
      // `>` and not `>=`: fractions of a millisecond are not counted.
      else if (maxQuietMs > 0 && clock - quietSince > maxQuietMs) entry.timeOut();
    }
    if (isIdle) stop();
  };

  const start = (): void => {
    clearInterval(timer);
    lookedAt = Math.floor(performance.now());
    timer = setInterval(look, LOOK_MS);
    // The timer must not keep an otherwise finished process alive. Outside of Node it may be a number.
    if (typeof timer === "object") timer.unref();
  };

  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
    clock = 0;
  };

  return {
    add(entry) {
      if (timer === undefined || performance.now() - lookedAt > DEAD_MS) start();
      return entries.add(entry);
    },
    /**
     * The timer is stopped by the next look. Stopping it here would create a timer for each request if requests come
     * one after another.
     */
    delete: (link) => entries.delete(link),
  };
}
