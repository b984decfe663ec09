/**
 * Frees the memory of a chunk that the parser of `node:http` copied from its socket. A chunk that is a part of other
 * memory stays as it is.
 */
export function freeChunk({ buffer, byteLength }: Uint8Array): void {
  if (buffer.byteLength === byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
