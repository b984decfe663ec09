import { type ChunkFlow, ChunkReader, type ChunkSink } from "./chunk-flow.js";

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

/** When more bytes than this wait for the reader, the source is paused. */
const MAX_QUEUED_BYTES = 256 * 1024;

/** Passes chunks from a source that pushes them to a sink or to a reader that requests them. It can be read once. */
export class ChunkQueue implements ChunkFlow {
  readonly #source: ChunkSource;
  readonly #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #isStarted = false;
  /** True before the first read, and while too many bytes are waiting. */
  #isPaused = true;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  #sink: ChunkSink | undefined;

  constructor(source: ChunkSource) {
    this.#source = source;
  }

  [Symbol.asyncIterator](): ChunkReader {
    this.#start();
    return new ChunkReader(this);
  }

  /** Gives the waiting chunks and all that follow to a sink, until it returns false. */
  flow(sink: ChunkSink): void {
    this.#start();
    for (let chunk = this.#take(); chunk !== undefined; chunk = this.#take()) {
      // Also if the sink wants no more now: the source goes on while the reader does something else.
      if (!sink.chunk(chunk)) return this.#resume();
    }
    if (this.#failure !== undefined) return sink.fail(this.#failure.error);
    if (this.#isOver) return sink.end();
    this.#sink = sink;
    this.#resume();
  }

  /** Ends the reading. A sink is not called any more. */
  leave(): void {
    if (!this.#isOver) {
      this.#isOver = true;
      this.#source.leave();
    }
    this.#queue.length = 0;
    this.#failure = undefined;
    this.#sink = undefined;
  }

  /** Adds a chunk. Pauses the source if too many bytes are waiting. */
  push(chunk: Uint8Array): void {
    if (this.#isOver) return;
    if (this.#sink !== undefined) {
      if (!this.#sink.chunk(chunk)) this.#sink = undefined;
      return;
    }
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    if (this.#queuedBytes < MAX_QUEUED_BYTES) return;
    this.#isPaused = true;
    this.#source.pause();
  }

  /** The source has ended. */
  end(): void {
    this.#isOver = true;
    this.#sink?.end();
  }

  /** The source has failed. The next read, or the pending one, gets the error. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#sink === undefined) this.#failure = { error };
    else this.#sink.fail(error);
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
}
