/**
 * Frees the memory of a chunk at once, for adapters over Node: V8 does a full collection for each 64 MB or so of chunks
 * that wait for one. A chunk that is a part of other memory stays as it is. Only for a chunk that nobody reads any more.
 */
export function freeChunk({ buffer, byteLength }: Uint8Array): void {
  if (buffer.byteLength === byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
