/** Frees the memory of a chunk as an adapter does after a write, unless the chunk is only a part of it. */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (buffer.byteLength === byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
