/** What is held of a source that is faster than its reader before it is paused. */
const MAX_QUEUED_BYTES = 256 * 1024;

type Result = IteratorResult<Uint8Array, undefined>;

const DONE: Result = { done: true, value: undefined };

/** Chunks on their way from a source that pushes to a reader that asks. To be read once. */
export abstract class ChunkQueue
  implements AsyncIterator<Uint8Array, undefined>, AsyncIterable<Uint8Array>, WholeSource
{
  readonly #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #isPaused = false;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  #waiter: PromiseWithResolvers<Result> | undefined;

  protected get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** The source is asked to wait, for the reader is behind. */
  protected abstract pause(): void;
  protected abstract resume(): void;
  /** The reader leaves before the end. */
  protected abstract leave(): void;

  /** A method of the class: a function made for each would take the runtime as long as all else here. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    const chunk = this.#queue.shift();
    if (chunk !== undefined) return Promise.resolve({ done: false, value: this.#taken(chunk) });
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    if (this.#isOver) return Promise.resolve(DONE);
    if (this.#waiter !== undefined) {
      // A client that left waits for a chunk still when another begins to read the rest: each gets its own.
      const takeTurn = (): Promise<Result> => this.next();
      return this.#waiter.promise.then(takeTurn, takeTurn);
    }
    this.#waiter = Promise.withResolvers();
    return this.#waiter.promise;
  }

  return(): Promise<Result> {
    if (!this.#isOver) {
      this.#isOver = true;
      this.leave();
    }
    this.#queue.length = 0;
    this.#failure = undefined;
    this.#answer()?.resolve(DONE);
    return Promise.resolve(DONE);
  }

  /**
   * All chunks at once, where all have come and are at most so many bytes: to wait for each of them costs more than
   * a small body does. `undefined` otherwise; they are then to be read as they come.
   */
  takeWhole(maxBytes: number): readonly Uint8Array[] | undefined {
    if (!this.#isOver || this.#failure !== undefined || this.#queuedBytes > maxBytes) return undefined;
    this.#queuedBytes = 0;
    return this.#queue.splice(0);
  }

  protected push(chunk: Uint8Array): void {
    if (this.#isOver) return;
    const waiter = this.#answer();
    if (waiter !== undefined) return waiter.resolve({ done: false, value: chunk });
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    if (this.#isPaused || this.#queuedBytes < MAX_QUEUED_BYTES) return;
    this.#isPaused = true;
    this.pause();
  }

  protected end(): void {
    this.#isOver = true;
    this.#answer()?.resolve(DONE);
  }

  protected fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const waiter = this.#answer();
    // One who comes later is told, too; nobody may come.
    if (waiter === undefined) this.#failure = { error };
    else waiter.reject(error);
  }

  #taken(chunk: Uint8Array): Uint8Array {
    this.#queuedBytes -= chunk.length;
    if (this.#isPaused && this.#queue.length === 0) {
      this.#isPaused = false;
      if (!this.#isOver) this.resume();
    }
    return chunk;
  }

  /** Whoever waits, who is answered once. */
  #answer(): PromiseWithResolvers<Result> | undefined {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    return waiter;
  }
}

/** A source that knows whether all of its chunks have arrived. */
export interface WholeSource {
  /** As {@link ChunkQueue.takeWhole}. */
  takeWhole(maxBytes: number): readonly Uint8Array[] | undefined;
}

/**
 * Returns all chunks if they have arrived, see {@link ChunkQueue.takeWhole}. Returns `undefined` for any other
 * source.
 */
export function takeWhole(
  chunks: AsyncIterable<Uint8Array> | AsyncIterator<Uint8Array> | undefined,
  maxBytes: number,
): readonly Uint8Array[] | undefined {
  return chunks !== undefined && isWholeSource(chunks) ? chunks.takeWhole(maxBytes) : undefined;
}

function isWholeSource(chunks: object): chunks is WholeSource {
  return "takeWhole" in chunks && typeof chunks.takeWhole === "function";
}
