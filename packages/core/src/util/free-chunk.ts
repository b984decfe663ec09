/**
 * Frees the memory of large chunks when they have been written or copied, without waiting for the garbage collector.
 *
 * The transport over undici marks the memory that it has read from a socket, and `@calotype/node` frees a chunk when its
 * write has ended. `@calotype/node` marks the chunks of a request's body, and the core frees them when it has copied them.
 * V8 runs a full collection for each 64 MB of chunks that wait for one. Freeing them saves a third of the CPU time of a
 * response of 4 MB or more, a quarter of that of an edit, and up to 40 % of the memory of the process. The simple version does
 * nothing in both functions. Code that keeps a chunk after passing it on must copy it. See docs/decisions/0015.
 */
const freeable = new WeakSet<ArrayBufferLike>();

/** Smaller chunks are left to the garbage collector. */
const MIN_BYTES = 16 * 1024;

/** Marks memory that only the reader of this body uses, such as a chunk from an HTTP/1.1 connection. */
export function allowFreeing({ buffer, byteLength }: Uint8Array): void {
  if (byteLength >= MIN_BYTES) freeable.add(buffer);
}

/** True if the memory of a chunk is marked and contains nothing else. */
export function isFreeable({ buffer, byteLength }: Uint8Array): boolean {
  return byteLength >= MIN_BYTES && buffer.byteLength === byteLength && freeable.has(buffer);
}

/**
 * Frees the memory of a chunk of a body if it {@link isFreeable}. Call it when the chunk has been written or copied and
 * no other code holds it.
 */
export function freeChunk(chunk: Uint8Array): void {
  if (isFreeable(chunk) && chunk.buffer instanceof ArrayBuffer) chunk.buffer.transfer(0);
}
