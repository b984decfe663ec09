import { createHeldBytes } from "../util/held-bytes.js";

/** What is smaller is copied to its neighbours: a write of its own would cost more. */
const COPIED_BYTES = 4 * 1024;

/** Joins pieces of every size into chunks to send. `T` is the type of items between the bytes. */
export interface ChunkJoiner<T> {
  add(piece: Uint8Array): void;
  /** Adds an item that is not bytes. */
  addOther(other: T): void;
  /** The chunks of all pieces since the last time. The larger ones are the very memory of their pieces. */
  take(): readonly (Uint8Array | T)[];
}

export function createChunkJoiner<T>(): ChunkJoiner<T> {
  const small = createHeldBytes();
  let chunks: (Uint8Array | T)[] = [];
  const endSmall = (): void => {
    if (small.length > 0) chunks.push(small.take());
  };
  return {
    add(piece) {
      if (piece.length < COPIED_BYTES) return small.add(piece);
      endSmall();
      chunks.push(piece);
    },
    addOther(other) {
      endSmall();
      chunks.push(other);
    },
    take() {
      endSmall();
      const taken = chunks;
      chunks = [];
      return taken;
    },
  };
}
