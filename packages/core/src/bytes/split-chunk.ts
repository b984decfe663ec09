/** The size of the pieces of a large chunk, in bytes. */
const PIECE_BYTES = 64 * 1024;

/**
 * The chunk itself, or if it is larger than 128 KiB its pieces, which share its memory. A slow client takes a piece
 * within `responseIdleSeconds` where it would not take an image of many megabytes. Over TLS a write shows no progress
 * before all of it is taken. The chunks that Node reads from a socket have about 64 KiB and stay whole.
 */
export function splitChunk(chunk: Uint8Array): readonly Uint8Array[] {
  if (chunk.length <= 2 * PIECE_BYTES) return [chunk];
  const pieces: Uint8Array[] = [];
  for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
    pieces.push(chunk.subarray(start, start + PIECE_BYTES));
  }
  return pieces;
}
