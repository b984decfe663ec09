/** Bytes of a block; a whole number of what base64 is made of at once. */
export const BLOCK_BYTES = 288 * 1024;

/** The whole of an `ArrayBuffer` of {@link BLOCK_BYTES}. */
export type Block = Uint8Array<ArrayBuffer>;

/**
 * Memory in blocks of one size that are used again and again: hundreds of megabytes of garbage wait long for the
 * collector, and cost it more than filling them.
 */
export interface BlockPool {
  /** A block; what stands in it may be of any request. */
  take(): Block;
  /**
   * Takes a block back that nobody reads or writes any more, nor ever will. One that somebody may still hold is not
   * given back: the collector has it in the end, and no other request.
   */
  giveBack(block: Block): void;
}

/** What waits for the next request however late it comes; more than that only for a while. */
const KEPT_BLOCKS = 64;
const IDLE_MS = 5_000;

/** A pool without a block. */
export function createBlockPool(): BlockPool {
  const free: Block[] = [];
  let isIdle = true;
  let timer: ReturnType<typeof setTimeout> | undefined;

  /** Looks again until nothing was taken between two looks. */
  const trimLater = (): void => {
    isIdle = true;
    timer = setTimeout(() => {
      timer = undefined;
      // At once, and not when the collector comes: the next requests may be there before it.
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

/** For runtimes that keep no memory between requests: each block is new, and garbage once it is given back. */
export const freshBlocks: BlockPool = {
  take: () => new Uint8Array(BLOCK_BYTES),
  giveBack: () => undefined,
};
