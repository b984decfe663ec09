/** Where the chunks of a {@link ChunkQueue} come from. */
export interface ChunkSource {
  /** Called once, when the queue is read for the first time. */
  start?(): void;
  /** Stops the source, because the reader is slower. */
  pause(): void;
  resume(): void;
  /** Called when the reader leaves before the end. */
  leave(): void;
}

/** When more bytes than this wait for the reader, the source is paused. */
const MAX_QUEUED_BYTES = 256 * 1024;

type Result = IteratorResult<Uint8Array, undefined>;

const DONE: Result = { done: true, value: undefined };

/** Passes chunks from a source that pushes them to a reader that requests them. It can be read once. */
export class ChunkQueue implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #source: ChunkSource;
  readonly #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #isStarted = false;
  #isPaused = false;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  #waiter: PromiseWithResolvers<Result> | undefined;

  constructor(source: ChunkSource) {
    this.#source = source;
  }

  [Symbol.asyncIterator](): this {
    this.#start();
    return this;
  }

  next(): Promise<Result> {
    this.#start();
    const chunk = this.#queue.shift();
    if (chunk !== undefined) return Promise.resolve({ done: false, value: this.#remove(chunk) });
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    if (this.#isOver) return Promise.resolve(DONE);
    if (this.#waiter !== undefined) {
      // A read of a client that has left may still be pending when the rest is read. Each read gets its own chunk.
      const takeTurn = (): Promise<Result> => this.next();
      return this.#waiter.promise.then(takeTurn, takeTurn);
    }
    this.#waiter = Promise.withResolvers();
    return this.#waiter.promise;
  }

  return(): Promise<Result> {
    if (!this.#isOver) {
      this.#isOver = true;
      this.#source.leave();
    }
    this.#queue.length = 0;
    this.#failure = undefined;
    this.#takeWaiter()?.resolve(DONE);
    return Promise.resolve(DONE);
  }

  /** Adds a chunk. Pauses the source if too many bytes are waiting. */
  push(chunk: Uint8Array): void {
    if (this.#isOver) return;
    const waiter = this.#takeWaiter();
    if (waiter !== undefined) return waiter.resolve({ done: false, value: chunk });
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    if (this.#isPaused || this.#queuedBytes < MAX_QUEUED_BYTES) return;
    this.#isPaused = true;
    this.#source.pause();
  }

  /** The source has ended. */
  end(): void {
    this.#isOver = true;
    this.#takeWaiter()?.resolve(DONE);
  }

  /** The source has failed. The next read, or the pending one, gets the error. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const waiter = this.#takeWaiter();
    if (waiter === undefined) this.#failure = { error };
    else waiter.reject(error);
  }

  #start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    if (!this.#isOver) this.#source.start?.();
  }

  #remove(chunk: Uint8Array): Uint8Array {
    this.#queuedBytes -= chunk.length;
    if (this.#isPaused && this.#queue.length === 0) {
      this.#isPaused = false;
      if (!this.#isOver) this.#source.resume();
    }
    return chunk;
  }

  #takeWaiter(): PromiseWithResolvers<Result> | undefined {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    return waiter;
  }
}
