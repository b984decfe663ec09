import { type Block, type BlockPool, createBlockPool } from "../images/block-pool.js";

/** A pool that spoils what is given back, so that whoever looks at it still sees it. */
export interface PoisonedBlocks extends BlockPool {
  /** Blocks that were taken and are not given back. */
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
      if (!taken.delete(block)) throw new Error("A block was given back that nobody has.");
      block.fill(POISON);
      pool.giveBack(block);
    },
  };
}
