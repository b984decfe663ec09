import { afterEach, describe, expect, it, vi } from "vitest";
import { BLOCK_BYTES, type Block, type BlockPool, createBlockPool, freshBlocks } from "./block-pool.js";

afterEach(() => void vi.useRealTimers());

const MANY = 100;

const takeMany = (pool: BlockPool): Block[] => Array.from({ length: MANY }, () => pool.take());

describe("the block pool", () => {
  it("uses a block again after it is returned, for one taker at a time", () => {
    const pool = createBlockPool();
    const blocks = takeMany(pool);
    expect(new Set(blocks.map(({ buffer }) => buffer)).size).toBe(MANY);
    expect(blocks.every(({ length }) => length === BLOCK_BYTES)).toBe(true);
    for (const block of blocks) pool.giveBack(block);
    expect(new Set(takeMany(pool))).toEqual(new Set(blocks));
    expect(blocks).not.toContain(pool.take());
  });

  it("releases most free blocks when none was taken for some seconds", () => {
    vi.useFakeTimers();
    const pool = createBlockPool();
    const blocks = takeMany(pool);
    for (const block of blocks) pool.giveBack(block);
    const countUsable = (): number => blocks.filter(({ length }) => length === BLOCK_BYTES).length;
    vi.advanceTimersByTime(4_000);
    pool.giveBack(pool.take());
    vi.advanceTimersByTime(4_000);
    expect(countUsable()).toBe(MANY);
    vi.advanceTimersByTime(4_000);
    expect(countUsable()).toBe(64);
    expect(takeMany(pool).every(({ length }) => length === BLOCK_BYTES)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("of runtimes without temporary files always creates new blocks", () => {
    const block = freshBlocks.take();
    freshBlocks.giveBack(block);
    expect(freshBlocks.take()).not.toBe(block);
  });
});
