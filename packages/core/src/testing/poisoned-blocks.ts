import { type Block, type BlockPool, createBlockPool } from "../images/block-pool.js";

/**
 * A pool that overwrites each block when it is given back, so that a reader that still uses the block gets wrong
 * bytes.
 */
export interface PoisonedBlocks extends BlockPool {
  /** The number of blocks that were taken and not given back. */
  readonly out: () => number;
}

const POISON = 0xee;

export function createPoisonedBlocks(): PoisonedBlocks {
  const pool = createBlockPool();
  const taken = new Set<Block>();
  return {
    out: () => taken.size,
    take() {
      const block = pool.take();
      taken.add(block);
      return block;
    },
    giveBack(block) {
      if (!taken.delete(block)) throw new Error("A block was given back that was not taken.");
      block.fill(POISON);
      pool.giveBack(block);
    },
  };
}
