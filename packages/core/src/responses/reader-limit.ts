import type { GatewayResponse } from "../http.js";
import type { Logger } from "../logger.js";
import { endsTimersWithRequests } from "../util/async.js";
import { ChunkReader, openFlow, type ReaderWatch } from "../util/chunk-flow.js";
import { createLinkedList, type Link } from "../util/collections.js";

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
      const reader = body instanceof ChunkReader ? body : new ChunkReader(openFlow(body));
      const pace = new ReaderPace(reader, { watch: shared ?? createStallWatch(), idleMs, logger, onLeft });
      return { ...response, body: reader, onIdle: pace.onIdle };
    },
  };
}

interface LimitParts {
  readonly watch: StallWatch;
  readonly idleMs: number;
  readonly logger: Logger;
  readonly onLeft: (() => void) | undefined;
}

type IdleListener = (error: Error) => boolean;

/**
 * Ends a body whose reader does not request the next chunk in time. Time does not count while the reader waits for a chunk,
 * because then the provider is slow. The watch holds a reference to the body, so a response that the host dropped
 * without reading it is ended too, whether or not it was garbage-collected.
 */
class ReaderPace implements ReaderWatch, Watched {
  quietSince = HEARD;
  maxQuietMs: number;
  readonly #reader: ChunkReader;
  readonly #parts: LimitParts;
  readonly #link: Link<Watched>;
  #listener: IdleListener | undefined;

  constructor(reader: ChunkReader, parts: LimitParts) {
    this.#reader = reader;
    this.#parts = parts;
    this.maxQuietMs = parts.idleMs;
    this.#link = parts.watch.add(this);
    reader.watch(this);
  }

  readonly onIdle = (listener: IdleListener): void => {
    this.#listener = listener;
  };

  waits(): void {
    this.maxQuietMs = 0;
  }

  served(): void {
    this.quietSince = HEARD;
    this.maxQuietMs = this.#parts.idleMs;
  }

  ended(hasLeft: boolean): void {
    this.#parts.watch.delete(this.#link);
    if (hasLeft) this.#parts.onLeft?.();
  }

  timeOut(): void {
    const { idleMs, logger } = this.#parts;
    const error = new Error(`The client read nothing of the response for ${idleMs / 1000} s.`);
    if (this.#mayWait(error)) {
      this.quietSince = HEARD;
      return;
    }
    this.#reader
      .abort(error)
      .catch((err: unknown) => logger.error({ err }, "A response that no client reads could not be ended."));
  }

  #mayWait(error: Error): boolean {
    try {
      return this.#listener?.(error) === true;
    } catch (err) {
      this.#parts.logger.error({ err }, "The host's onIdle listener failed.");
      return false;
    }
  }
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
