import { describe, expect, it } from "vitest";
import { measureHeap } from "../testing/measure-heap.js";
import { createSweeper } from "./sweeper.js";

describe("createSweeper", () => {
  it("looks at so many entries a time, and goes on where it stopped", () => {
    const entries = new Map(Array.from({ length: 10 }, (_, index) => [String(index), index]));
    const sweep = createSweeper(
      entries,
      (value) => value % 2 === 0,
      (key) => entries.delete(key),
    );
    sweep(5, 0);
    expect([...entries.values()]).toEqual([1, 3, 5, 6, 7, 8, 9]);
    sweep(5, 0);
    expect([...entries.values()]).toEqual([1, 3, 5, 7, 9]);
  });

  it("comes round to entries that were added and to those that are over later", () => {
    const entries = new Map([["a", 10]]);
    const sweep = createSweeper(
      entries,
      (endsAt, now) => endsAt <= now,
      (key) => entries.delete(key),
    );
    sweep(9, 0);
    entries.set("b", 20);
    sweep(9, 10);
    sweep(9, 10);
    expect([...entries.keys()]).toEqual(["b"]);
    sweep(9, 20);
    sweep(9, 20);
    expect(entries.size).toBe(0);
  });

  it("holds nothing of a Map whose entries came and went between its looks", () => {
    const entries = new Map<string, number>();
    const sweep = createSweeper(
      entries,
      () => false,
      (key) => entries.delete(key),
    );
    const before = measureHeap();
    for (let round = 0; round < 20_000; round++) {
      sweep(1, 0);
      entries.set("a", round);
      entries.delete("a");
    }
    expect(measureHeap() - before).toBeLessThan(1_000_000);
    sweep(1, 0);
  });
});
