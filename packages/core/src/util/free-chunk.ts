/**
 * Frees the memory of large chunks when they have been written or copied, without waiting for the garbage collector.
 *
 * The transport over undici marks the memory that it has read from a socket, and `@calotype/node` frees a chunk when its
 * write has ended. `@calotype/node` marks the chunks of a request's body, and the core frees them when it has copied them.
 * V8 runs a full collection for each 64 MB of chunks that wait for one. Freeing them saves a third of the CPU time of a
 * response of 4 MB or more, a quarter of that of an edit, and up to 40 % of the memory of the process. The simple version does
 * nothing in both functions. Code that keeps a chunk after passing it on must copy it. See docs/decisions/0015.
 */
const FREEABLE = Symbol("freeable");

/** Memory that may be marked. A property costs a fraction of an entry in a `WeakSet`, for the garbage collector, too. */
interface MarkedMemory {
  readonly byteLength: number;
  [FREEABLE]?: true;
}

/** Smaller chunks are left to the garbage collector. */
const MIN_BYTES = 16 * 1024;

/** Marks memory that only the reader of this body uses, such as a chunk from an HTTP/1.1 connection. */
export function allowFreeing({ buffer, byteLength }: Uint8Array): void {
  const memory: MarkedMemory = buffer;
  if (byteLength >= MIN_BYTES) memory[FREEABLE] = true;
}

/** True if the memory of a chunk is marked and contains nothing else. */
export function isFreeable({ buffer, byteLength }: Uint8Array): boolean {
  const memory: MarkedMemory = buffer;
  return byteLength >= MIN_BYTES && memory.byteLength === byteLength && memory[FREEABLE] === true;
}

/**
 * Frees the memory of a chunk of a body if it {@link isFreeable}. Call it when the chunk has been written or copied and
 * no other code holds it.
 */
export function freeChunk(chunk: Uint8Array): void {
  if (isFreeable(chunk) && chunk.buffer instanceof ArrayBuffer) chunk.buffer.transfer(0);
}
