import { afterEach, describe, expect, it, vi } from "vitest";
import { BLOCK_BYTES, type Block, type BlockPool, createBlockPool, freshBlocks } from "./block-pool.js";

afterEach(() => void vi.useRealTimers());

const MANY = 100;

const takeMany = (pool: BlockPool): Block[] => Array.from({ length: MANY }, () => pool.take());

describe("blocks", () => {
  it("are used again once they are given back, each by one at a time", () => {
    const pool = createBlockPool();
    const blocks = takeMany(pool);
    expect(new Set(blocks.map(({ buffer }) => buffer)).size).toBe(MANY);
    expect(blocks.every(({ length }) => length === BLOCK_BYTES)).toBe(true);
    for (const block of blocks) pool.giveBack(block);
    expect(new Set(takeMany(pool))).toEqual(new Set(blocks));
    expect(blocks).not.toContain(pool.take());
  });

  it("that nobody takes for a while are memory no more, but for some", () => {
    vi.useFakeTimers();
    const pool = createBlockPool();
    const blocks = takeMany(pool);
    for (const block of blocks) pool.giveBack(block);
    const countKept = (): number => blocks.filter(({ length }) => length === BLOCK_BYTES).length;
    vi.advanceTimersByTime(4_000);
    pool.giveBack(pool.take());
    vi.advanceTimersByTime(4_000);
    expect(countKept()).toBe(MANY);
    vi.advanceTimersByTime(4_000);
    expect(countKept()).toBe(64);
    expect(takeMany(pool).every(({ length }) => length === BLOCK_BYTES)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("are new each time where none are kept", () => {
    const block = freshBlocks.take();
    freshBlocks.giveBack(block);
    expect(freshBlocks.take()).not.toBe(block);
  });
});
