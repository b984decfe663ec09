import { createHeldBytes } from "./held-bytes.js";

/** What is smaller is copied to its neighbours: a write of its own would cost more. */
const COPIED_BYTES = 4 * 1024;

/** Chunks to send, of pieces of every size. */
export interface ChunkJoiner {
  add(piece: Uint8Array): void;
  /** The chunks of all pieces since the last time. The larger ones are the very memory of their pieces. */
  take(): readonly Uint8Array[];
}

export function createChunkJoiner(): ChunkJoiner {
  const small = createHeldBytes();
  let chunks: Uint8Array[] = [];
  const endSmall = (): void => {
    if (small.length > 0) chunks.push(small.take());
  };
  return {
    add(piece) {
      if (piece.length < COPIED_BYTES) return small.add(piece);
      endSmall();
      chunks.push(piece);
    },
    take() {
      endSmall();
      const taken = chunks;
      chunks = [];
      return taken;
    },
  };
}
