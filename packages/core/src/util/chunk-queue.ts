/** Where the chunks of a {@link ChunkQueue} come from. */
export interface ChunkSource {
  /** Called once, when the queue is iterated. No chunk needs to arrive before the first `resume`. */
  start?(): void;
  /** Stops the source, because the reader is slower. */
  pause(): void;
  /** Called at the first read, and when the reader has read all chunks after a `pause`. */
  resume(): void;
  /** Called when the reader leaves before the end. */
  leave(): void;
}

/** Takes chunks as they arrive, without a promise for each of them. Its functions must not throw. */
export interface ChunkSink {
  /** @returns false to get no more chunks before the next call of `flow` */
  chunk(chunk: Uint8Array): boolean;
  end(): void;
  fail(error: unknown): void;
}

/** When more bytes than this wait for the reader, the source is paused. */
const MAX_QUEUED_BYTES = 256 * 1024;

type Result = IteratorResult<Uint8Array, undefined>;

const DONE: Result = { done: true, value: undefined };

/**
 * Passes chunks from a source that pushes them to a reader that requests them, or to a sink. It can be read once, in one
 * of the two ways.
 */
export class ChunkQueue implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #source: ChunkSource;
  readonly #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #isStarted = false;
  /** True before the first read, and while too many bytes are waiting. */
  #isPaused = true;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  #waiter: PromiseWithResolvers<Result> | undefined;
  #sink: ChunkSink | undefined;

  constructor(source: ChunkSource) {
    this.#source = source;
  }

  [Symbol.asyncIterator](): this {
    this.#start();
    return this;
  }

  next(): Promise<Result> {
    this.#start();
    const chunk = this.#take();
    this.#resume();
    if (chunk !== undefined) return Promise.resolve({ done: false, value: chunk });
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
    this.leave();
    return Promise.resolve(DONE);
  }

  /** Gives the waiting chunks and all that follow to a sink, until it returns false. */
  flow(sink: ChunkSink): void {
    this.#start();
    for (let chunk = this.#take(); chunk !== undefined; chunk = this.#take()) {
      if (!sink.chunk(chunk)) return;
    }
    if (this.#failure !== undefined) return sink.fail(this.#failure.error);
    if (this.#isOver) return sink.end();
    this.#sink = sink;
    this.#resume();
  }

  /** Ends the reading, like `return`. A sink is not called any more. */
  leave(): void {
    if (!this.#isOver) {
      this.#isOver = true;
      this.#source.leave();
    }
    this.#queue.length = 0;
    this.#failure = undefined;
    this.#sink = undefined;
    this.#takeWaiter()?.resolve(DONE);
  }

  /** Adds a chunk. Pauses the source if too many bytes are waiting. */
  push(chunk: Uint8Array): void {
    if (this.#isOver) return;
    if (this.#sink !== undefined) {
      if (!this.#sink.chunk(chunk)) this.#sink = undefined;
      return;
    }
    const waiter = this.#takeWaiter();
    if (waiter !== undefined) return waiter.resolve({ done: false, value: chunk });
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    if (this.#queuedBytes < MAX_QUEUED_BYTES) return;
    this.#isPaused = true;
    this.#source.pause();
  }

  /** The source has ended. */
  end(): void {
    this.#isOver = true;
    this.#takeWaiter()?.resolve(DONE);
    this.#sink?.end();
  }

  /** The source has failed. The next read, or the pending one, gets the error. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#sink !== undefined) return this.#sink.fail(error);
    const waiter = this.#takeWaiter();
    if (waiter === undefined) this.#failure = { error };
    else waiter.reject(error);
  }

  #start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    if (!this.#isOver) this.#source.start?.();
  }

  #take(): Uint8Array | undefined {
    const chunk = this.#queue.shift();
    if (chunk !== undefined) this.#queuedBytes -= chunk.length;
    return chunk;
  }

  #resume(): void {
    if (!this.#isPaused || this.#isOver || this.#queue.length > 0) return;
    this.#isPaused = false;
    this.#source.resume();
  }

  #takeWaiter(): PromiseWithResolvers<Result> | undefined {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    return waiter;
  }
}
