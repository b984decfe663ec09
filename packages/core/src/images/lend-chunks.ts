/** Bytes in order, in pieces of any size. */
export type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/**
 * Reading bytes without a copy. A reader inside this package takes chunks whose memory is used again when it asks for
 * the next chunk. Everyone else gets chunks of their own, from `chunks()` or by iteration.
 *
 * What it gains: the block pool (block-pool.ts) can use the memory of a chunk again. The simple version of
 * {@link lendChunks} is `source.chunks()`. A chunk that a socket may still hold must be copied before the next one is
 * requested; `transport-node.ts` waits for large chunks only.
 */
const lenders = new WeakMap<object, () => Chunks>();

/** Sets how {@link lendChunks} reads `source`. */
export function setLender(source: object, lend: () => Chunks): void {
  lenders.set(source, lend);
}

/** Reads the bytes of a source. Each chunk is valid until the next one is requested. */
export function lendChunks(source: Chunks | { chunks(): Chunks }): Chunks {
  const lend = lenders.get(source);
  if (lend !== undefined) return lend();
  return "chunks" in source ? source.chunks() : source;
}
