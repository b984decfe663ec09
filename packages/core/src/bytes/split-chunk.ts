/** The size of the pieces of a large chunk, in bytes. */
const PIECE_BYTES = 64 * 1024;

/**
 * Returns the chunk itself, or, if it is larger than 128 KiB, its pieces, which share its memory. A slow client can
 * read one piece within `responseIdleSeconds`, but not an image of many megabytes. Over TLS, a write shows no
 * progress until all of it is sent. Chunks that Node reads from a socket have about 64 KiB and are not split.
 */
export function splitChunk(chunk: Uint8Array): readonly Uint8Array[] {
  if (chunk.length <= 2 * PIECE_BYTES) return [chunk];
  const pieces: Uint8Array[] = [];
  for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
    pieces.push(chunk.subarray(start, start + PIECE_BYTES));
  }
  return pieces;
}
