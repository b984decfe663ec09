import { ChunkQueue } from "./chunk-queue.js";

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
  const chunks = new ChunkQueue({
    /** Listens without making the stream flow. If other code makes it flow before the first read, no byte is lost. */
    start() {
      if (readable.readableEnded) return chunks.end();
      if (readable.destroyed) return onClose();
      readable.pause();
      readable.on("data", onData);
      readable.on("end", onEnd);
      readable.on("error", onError);
      readable.on("close", onClose);
    },
    pause: () => readable.pause(),
    resume: () => readable.resume(),
    leave() {
      stop();
      readable.pause();
    },
  });
  const stop = (): void => {
    readable.off("data", onData);
    readable.off("end", onEnd);
    readable.off("error", onError);
    readable.off("close", onClose);
  };
  const onData = (chunk: Uint8Array): void => {
    onChunk?.(chunk);
    chunks.push(chunk);
  };
  const onEnd = (): void => {
    stop();
    chunks.end();
  };
  const onError = (error: Error): void => {
    stop();
    chunks.fail(error);
  };
  const onClose = (): void => onError(readable.errored ?? new Error("The stream was closed before its end."));
  return chunks;
}
