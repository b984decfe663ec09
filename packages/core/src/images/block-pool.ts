/** The size of a block: a multiple of the bytes that are encoded as base64 at once. */
export const BLOCK_BYTES = 288 * 1024;

/** An array over a whole `ArrayBuffer` of {@link BLOCK_BYTES}. */
export type Block = Uint8Array<ArrayBuffer>;

/**
 * Memory in blocks that are used again, because the garbage collector frees memory outside its heap late and at a high
 * cost. What it gains: 16 forms of 3 × 10 MB at once need 43 % less memory (290 instead of 507 MB) and 40 % fewer
 * instructions. The simple version is {@link freshBlocks}.
 */
export interface BlockPool {
  /** Returns a block. It may contain bytes of earlier requests. */
  take(): Block;
  /**
   * Takes back a block that is no longer read or written. A block that may still be in use must not be given back:
   * the garbage collector gets it.
   */
  giveBack(block: Block): void;
}

/** The number of free blocks that are kept for any time. Further free blocks are kept for {@link IDLE_MS}. */
const KEPT_BLOCKS = 64;
const IDLE_MS = 5_000;

/** Creates an empty pool. */
export function createBlockPool(): BlockPool {
  const free: Block[] = [];
  let isIdle = true;
  let timer: ReturnType<typeof setTimeout> | undefined;

  /** Releases free blocks after a period in which no block was taken. */
  const trimLater = (): void => {
    isIdle = true;
    timer = setTimeout(() => {
      timer = undefined;
      // `transfer` frees the memory at once. There is no reference to a free block.
      if (isIdle) for (const { buffer } of free.splice(KEPT_BLOCKS)) buffer.transfer(0);
      else if (free.length > KEPT_BLOCKS) trimLater();
    }, IDLE_MS);
    timer.unref();
  };

  return {
    take() {
      isIdle = false;
      return free.pop() ?? new Uint8Array(BLOCK_BYTES);
    },
    giveBack(block) {
      free.push(block);
      if (timer === undefined && free.length > KEPT_BLOCKS) trimLater();
    },
  };
}

/** A pool whose blocks are always new, for runtimes that keep no memory between requests. */
export const freshBlocks: BlockPool = {
  take: () => new Uint8Array(BLOCK_BYTES),
  giveBack: () => undefined,
};
