/** Larger ones are left as they are. */
const SMALL_BYTES = 16 * 1024;
const BLOCK_BYTES = 64 * 1024;

/** Joins small chunks of a file, so that none of a client's making costs more than the bytes in it. */
export interface ChunkJoiner {
  add(chunk: Uint8Array): void;
  /** Gives what is left. */
  end(): void;
}

/** @param give is called with chunks that are the joiner's own, or large */
export function createChunkJoiner(give: (chunk: Uint8Array) => void): ChunkJoiner {
  let block: Uint8Array | undefined;
  let used = 0;

  const end = (): void => {
    if (block === undefined || used === 0) return;
    // A whole block is handed over; of another one a copy that is no larger than it must be.
    give(used === BLOCK_BYTES ? block : block.slice(0, used));
    if (used === BLOCK_BYTES) block = undefined;
    used = 0;
  };

  return {
    add(chunk) {
      if (chunk.length >= SMALL_BYTES) {
        end();
        return give(chunk);
      }
      if (used + chunk.length > BLOCK_BYTES) end();
      block ??= new Uint8Array(BLOCK_BYTES);
      block.set(chunk, used);
      used += chunk.length;
    },
    end,
  };
}
