import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createIndexedHeap } from "./indexed-heap.js";

interface Item {
  readonly rank: number;
}

describe("an indexed heap", () => {
  it("has the first of what is left at hand, whatever is added and deleted", () => {
    const steps = fc.array(fc.tuple(fc.boolean(), fc.nat(20), fc.nat(50)), { maxLength: 200, size: "max" });
    fc.assert(
      fc.property(steps, (list) => {
        const heap = createIndexedHeap<Item>((one, other) => one.rank < other.rank);
        const items: Item[] = [];
        for (const [isAdded, rank, at] of list) {
          const chosen = items[at];
          if (isAdded) {
            const item = { rank };
            items.push(item);
            heap.add(item);
          } else if (chosen !== undefined) {
            items.splice(at, 1);
            heap.delete(chosen);
            heap.delete(chosen);
          }
          expect(heap.first()?.rank).toBe(items.map((item) => item.rank).toSorted((a, b) => a - b)[0]);
        }
      }),
      { numRuns: 500, seed: 20_261_121 },
    );
  });
});
