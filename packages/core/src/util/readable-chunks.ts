import { ChunkQueue, type ChunkSource } from "./chunk-queue.js";

/** The part of Node's `Readable` that is used. Structural, so that this file needs no runtime. */
export interface ReadableLike {
  readonly destroyed: boolean;
  readonly readableEnded: boolean;
  readonly errored?: Error | null;
  on(event: "data", listener: (chunk: Uint8Array) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end" | "close", listener: () => void): unknown;
  off(event: "data", listener: (chunk: Uint8Array) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  off(event: "end" | "close", listener: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

/**
 * Reads the chunks of a Node stream, for adapters. It can be iterated once. A reader that leaves early pauses the stream
 * and does not destroy it. The stream's own iterator is the simple version. It joins waiting chunks into a new one, and
 * destroys the stream.
 *
 * @param onChunk called with each chunk when it arrives, for example to allow that its memory is freed
 */
export function toChunks(
  readable: ReadableLike,
  onChunk?: (chunk: Uint8Array) => void,
): AsyncIterable<Uint8Array> {
  return new ReadableSource(readable, onChunk).chunks;
}

class ReadableSource implements ChunkSource {
  readonly chunks = new ChunkQueue(this);
  readonly #readable: ReadableLike;
  readonly #onChunk: ((chunk: Uint8Array) => void) | undefined;

  constructor(readable: ReadableLike, onChunk: ((chunk: Uint8Array) => void) | undefined) {
    this.#readable = readable;
    this.#onChunk = onChunk;
  }

  /** Listens without making the stream flow. If other code makes it flow before the first read, no byte is lost. */
  start(): void {
    const readable = this.#readable;
    if (readable.readableEnded) return this.chunks.end();
    if (readable.destroyed) return this.#onClose();
    readable.pause();
    readable.on("data", this.#onData);
    readable.on("end", this.#onEnd);
    readable.on("error", this.#onError);
    readable.on("close", this.#onClose);
  }

  pause(): void {
    this.#readable.pause();
  }

  resume(): void {
    this.#readable.resume();
  }

  leave(): void {
    this.#stop();
    this.#readable.pause();
  }

  #stop(): void {
    const readable = this.#readable;
    readable.off("data", this.#onData);
    readable.off("end", this.#onEnd);
    readable.off("error", this.#onError);
    readable.off("close", this.#onClose);
  }

  readonly #onData = (chunk: Uint8Array): void => {
    this.#onChunk?.(chunk);
    this.chunks.push(chunk);
  };

  readonly #onEnd = (): void => {
    this.#stop();
    this.chunks.end();
  };

  readonly #onError = (error: Error): void => {
    this.#stop();
    this.chunks.fail(error);
  };

  readonly #onClose = (): void => {
    this.#onError(this.#readable.errored ?? new Error("The stream was closed before its end."));
  };
}
