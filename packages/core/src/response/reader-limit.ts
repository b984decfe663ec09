import { splitChunk } from "../bytes/split-chunk.js";
import type { GatewayResponse } from "../exchange.js";
import type { Link } from "../linked-list.js";
import type { Logger } from "../logger.js";
import { createStallWatch, HEARD, type StallWatch, type Watched } from "../stall-watch.js";

/** Ends responses whose client does not read them, on every host. */
export interface ReaderLimit {
  /** Watches the reader of a produced body. A response with a complete body is returned as it is. */
  watch(response: GatewayResponse): GatewayResponse;
}

/** @param idleMs how long a client may take nothing of a body, in milliseconds */
export function createReaderLimit(idleMs: number, logger: Logger): ReaderLimit {
  const shared = endsTimersWithRequests() ? undefined : createStallWatch();
  return {
    watch(response) {
      const { body } = response;
      if (typeof body === "string" || body instanceof Uint8Array) return response;
      const watched = new WatchedBody(body, { watch: shared ?? createStallWatch(), idleMs, logger });
      return { ...response, body: watched, onIdle: watched.onIdle };
    },
  };
}

/**
 * True on Workers, where a timer ends with the request that created it. There each response needs a timer of its own;
 * elsewhere one serves all.
 */
function endsTimersWithRequests(): boolean {
  return globalThis.navigator?.userAgent === "Cloudflare-Workers";
}

interface LimitParts {
  readonly watch: StallWatch;
  readonly idleMs: number;
  readonly logger: Logger;
}

type Chunk = IteratorResult<Uint8Array, undefined>;
type IdleListener = (error: Error) => boolean;

const DONE: Chunk = { done: true, value: undefined };

/**
 * A body whose reader must ask for the next chunk in time. While the reader waits for a chunk, no time counts: it is
 * the provider that is slow then. The watch holds the body, so that a response which the host dropped without reading
 * is ended too, whether it was garbage-collected or not.
 */
class WatchedBody implements AsyncIterableIterator<Uint8Array, undefined>, Watched {
  quietSince = HEARD;
  maxQuietMs: number;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #parts: LimitParts;
  #link: Link<Watched> | undefined;
  /** Reads of the host that are not answered yet. */
  #pending = 0;
  /** Pieces of a large chunk that were not taken yet. */
  #ready: Uint8Array[] = [];
  #listener: IdleListener | undefined;
  #failure: Error | undefined;

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

  /** The client takes no more. */
  async return(): Promise<Chunk> {
    this.#leaveWatch();
    this.#ready = [];
    await this.#chunks.return?.();
    return DONE;
  }

  timeOut(): void {
    const { idleMs, logger } = this.#parts;
    const error = new Error(`The client took nothing of the response for ${idleMs / 1000} s.`);
    if (this.#mayWait(error)) {
      this.quietSince = HEARD;
      return;
    }
    this.#failure = error;
    this.return().catch((err: unknown) => logger.error({ err }, "A response that nobody reads did not end."));
  }

  #mayWait(error: Error): boolean {
    try {
      return this.#listener?.(error) === true;
    } catch (err) {
      this.#parts.logger.error({ err }, "The host's onIdle listener failed.");
      return false;
    }
  }

  readonly #receive = ({ done, value }: IteratorResult<Uint8Array, unknown>): Chunk => {
    this.#countAnswered();
    if (done !== true) this.#ready.push(...splitChunk(value));
    else this.#leaveWatch();
    // Of two reads at once, the pieces of the first one's chunk come before the chunk of the second one.
    const piece = this.#ready.shift();
    return piece === undefined ? DONE : { done: false, value: piece };
  };

  readonly #fail = (error: unknown): never => {
    this.#countAnswered();
    this.#leaveWatch();
    throw error;
  };

  #countAnswered(): void {
    this.#pending--;
    if (this.#pending > 0) return;
    this.quietSince = HEARD;
    this.maxQuietMs = this.#parts.idleMs;
  }

  #leaveWatch(): void {
    if (this.#link !== undefined) this.#parts.watch.delete(this.#link);
    this.#link = undefined;
  }
}
