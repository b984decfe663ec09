import type { Awaitable } from "./async.js";
import { encodeText } from "./utf8.js";

/** Takes chunks as they arrive, without a promise for each of them. Its functions must not throw. */
export interface ChunkSink {
  /** @returns false to get no more chunks before the next call of `flow` */
  chunk(chunk: Uint8Array): boolean;
  end(): void;
  fail(error: unknown): void;
}

/** Bytes that are given to a sink chunk by chunk. A body passes through several flows, and only its reader has promises. */
export interface ChunkFlow {
  /** Gives chunks to a sink until the sink returns false. It must not be called while a sink still gets chunks. */
  flow(sink: ChunkSink): void;
  /** Ends the flow. The sink is not called any more. */
  leave(): Awaitable<unknown>;
}

/** Changes the chunks of a body on their way. */
export interface ChunkStage {
  /** Returns what is passed on: often the chunk itself. */
  push(chunk: Uint8Array): Uint8Array | readonly Uint8Array[];
  /** Returns what is passed on after the last chunk. */
  end(): readonly Uint8Array[];
}

/** A flow without a chunk. */
export const NO_CHUNKS: ChunkFlow = { flow: (sink) => sink.end(), leave: () => undefined };

/** Returns a body as a flow. An iterable must not be read in another way then. */
export function openFlow(body: AsyncIterable<Uint8Array> | Uint8Array | string): ChunkFlow {
  if (typeof body === "string" || body instanceof Uint8Array) {
    const flow = new StagedFlow(NO_CHUNKS);
    flow.unread([typeof body === "string" ? encodeText(body) : body]);
    return flow;
  }
  if (body instanceof StagedFlow) return body;
  const chunks = body[Symbol.asyncIterator]();
  if (chunks instanceof ChunkReader) return chunks.toFlow();
  return {
    flow: (sink) => void pull(() => chunks.next(), sink),
    leave: () => chunks.return?.(),
  };
}

/** Gives what `next` returns to a sink until the sink returns false. */
export async function pull(
  next: () => Promise<IteratorResult<Uint8Array, unknown>>,
  sink: ChunkSink,
): Promise<void> {
  try {
    for (;;) {
      const { done, value } = await next();
      if (done === true) return sink.end();
      if (!sink.chunk(value)) return;
    }
  } catch (error) {
    sink.fail(error);
  }
}

/** A flow whose chunks pass a stage, and that takes chunks back. */
export class StagedFlow implements ChunkFlow, ChunkSink {
  readonly #source: ChunkFlow;
  readonly #stage: ChunkStage | undefined;
  readonly #toError: (error: unknown) => unknown;
  /** Chunks that have passed the stage, and that the sink did not want yet. */
  #ready: Uint8Array[] = [];
  #failure: { readonly error: unknown } | undefined;
  #isOver = false;
  #sink: ChunkSink | undefined;

  /** @param toError converts the errors of the source */
  constructor(
    source: ChunkFlow,
    stage?: ChunkStage,
    toError: (error: unknown) => unknown = (error) => error,
  ) {
    this.#source = source;
    this.#stage = stage;
    this.#toError = toError;
  }

  [Symbol.asyncIterator](): ChunkReader {
    return new ChunkReader(this);
  }

  flow(sink: ChunkSink): void {
    this.#sink = sink;
    if (this.#ready.length > 0 && !this.#give(this.#ready.splice(0))) return;
    if (!this.#isOver) return this.#source.flow(this);
    this.#endSink();
  }

  /** Gives chunks back that were read. They come again, and not through the stage. A failure comes after them. */
  unread(chunks: readonly Uint8Array[], failure?: { readonly error: unknown }): void {
    this.#ready.unshift(...chunks);
    this.#failure ??= failure;
    this.#isOver ||= failure !== undefined;
  }

  leave(): Awaitable<unknown> {
    this.#isOver = true;
    this.#ready = [];
    this.#failure = undefined;
    this.#sink = undefined;
    return this.#source.leave();
  }

  chunk(chunk: Uint8Array): boolean {
    const passed = this.#stage === undefined ? chunk : this.#stage.push(chunk);
    // A whole chunk may be held back, so more chunks may be needed.
    return passed instanceof Uint8Array ? this.#giveOne(passed) : this.#give(passed);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#give(this.#stage?.end() ?? [])) this.#endSink();
  }

  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = { error: this.#toError(error) };
    this.#endSink();
  }

  /** Returns true if the sink takes more. What it does not take waits. */
  #give(chunks: readonly Uint8Array[]): boolean {
    for (const chunk of chunks) this.#giveOne(chunk);
    return this.#sink !== undefined;
  }

  #giveOne(chunk: Uint8Array): boolean {
    if (this.#sink === undefined) this.#ready.push(chunk);
    else if (!this.#sink.chunk(chunk)) this.#sink = undefined;
    return this.#sink !== undefined;
  }

  #endSink(): void {
    const sink = this.#sink;
    const failure = this.#failure;
    this.#sink = undefined;
    this.#failure = undefined;
    if (failure === undefined) sink?.end();
    else sink?.fail(failure.error);
  }
}

/** Learns how the chunks of a {@link ChunkReader} are read. */
export interface ReaderWatch {
  /** The reader waits for a chunk. */
  waits(): void;
  /** The reader has everything that it asked for. */
  served(): void;
  /** The body has ended. Called once, and also if the reader left before. */
  ended(hasLeft: boolean): void;
}

type Read = PromiseWithResolvers<IteratorResult<Uint8Array, undefined>>;

const DONE: IteratorResult<Uint8Array, undefined> = { done: true, value: undefined };

/**
 * The reader of a flow. It reads with promises, one for each chunk, or gives the chunks to a sink, without promises. If several
 * reads are pending, each gets its own chunk. A pending read ends when `return` is called.
 */
export class ChunkReader implements AsyncIterableIterator<Uint8Array, undefined>, ChunkFlow, ChunkSink {
  readonly #source: ChunkFlow;
  readonly #reads: Read[] = [];
  /** Takes the chunks in place of reads. */
  #sink: ChunkSink | undefined;
  #watch: ReaderWatch | undefined;
  /** Pieces of a large chunk that were not read yet. */
  #ready: Uint8Array[] = [];
  #failure: Error | undefined;
  #isOver = false;

  constructor(source: ChunkFlow) {
    this.#source = source;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Returns the source, unless this reader reports how it is read. */
  toFlow(): ChunkFlow {
    return this.#watch === undefined ? this.#source : this;
  }

  /** Reports how the chunks are read. Large chunks are split, so that a slow reader shows that it reads. */
  watch(watch: ReaderWatch): void {
    this.#watch = watch;
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const piece = this.#ready.shift();
    if (piece !== undefined) {
      this.#watch?.served();
      return Promise.resolve({ done: false, value: piece });
    }
    if (this.#isOver) return Promise.resolve(DONE);
    const read: Read = Promise.withResolvers();
    this.#reads.push(read);
    this.#watch?.waits();
    if (this.#reads.length === 1) this.#source.flow(this);
    return read.promise;
  }

  flow(sink: ChunkSink): void {
    if (this.#failure !== undefined) return sink.fail(this.#failure);
    this.#watch?.waits();
    this.#sink = sink;
    if (!this.#giveReady()) return;
    if (!this.#isOver) return this.#source.flow(this);
    this.#sink = undefined;
    sink.end();
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    await this.leave();
    return DONE;
  }

  leave(): Awaitable<unknown> {
    this.#sink = undefined;
    this.#end(true);
    return this.#source.leave();
  }

  /** Ends the body. Further reads fail. */
  async abort(failure: Error): Promise<void> {
    this.#failure = failure;
    await this.leave();
  }

  chunk(chunk: Uint8Array): boolean {
    // A source that could not be ended at once may still give a chunk.
    if (this.#isOver) return false;
    if (chunk.length <= 2 * PIECE_BYTES || this.#watch === undefined) return this.#give(chunk);
    this.#ready.push(...splitChunk(chunk));
    return this.#giveReady();
  }

  end(): void {
    this.#endSink((sink) => sink.end());
  }

  fail(error: unknown): void {
    this.#reads.shift()?.reject(error);
    this.#endSink((sink) => sink.fail(error));
  }

  /** @returns false if no more chunks are wanted */
  #giveReady(): boolean {
    let isWanted = true;
    while (isWanted && this.#ready.length > 0) isWanted = this.#give(this.#ready.shift());
    return isWanted;
  }

  #give(value: Uint8Array | undefined): boolean {
    if (value === undefined) return true;
    if (this.#sink === undefined) return this.#serve(value);
    if (this.#sink.chunk(value)) return true;
    this.#sink = undefined;
    this.#watch?.served();
    return false;
  }

  #serve(value: Uint8Array): boolean {
    const read = this.#reads.shift();
    const isWanted = this.#reads.length > 0;
    if (!isWanted) this.#watch?.served();
    read?.resolve({ done: false, value });
    return isWanted;
  }

  #endSink(report: (sink: ChunkSink) => void): void {
    const sink = this.#sink;
    this.#sink = undefined;
    this.#end(false);
    if (sink !== undefined) report(sink);
  }

  #end(hasLeft: boolean): void {
    if (hasLeft) this.#ready = [];
    if (!this.#isOver) this.#watch?.ended(hasLeft);
    this.#isOver = true;
    for (const { resolve } of this.#reads.splice(0)) resolve(DONE);
  }
}

/** The size of the pieces of a large chunk, in bytes. */
const PIECE_BYTES = 64 * 1024;

/**
 * Returns the pieces of a chunk that is larger than 128 KiB. They share its memory. A slow client can read one piece
 * within `responseIdleSeconds`, but not an image of many megabytes. Over TLS, a write shows no progress until all of it
 * is sent. Chunks that Node reads from a socket have about 64 KiB and are not split.
 */
function splitChunk(chunk: Uint8Array): readonly Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
    pieces.push(chunk.subarray(start, start + PIECE_BYTES));
  }
  return pieces;
}
