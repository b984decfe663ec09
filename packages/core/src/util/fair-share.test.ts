import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CallerCounts, fitsShare } from "./fair-share.js";

describe("the share of a caller", () => {
  it.each<[own: number, others: number, capacity: number, size: number, fits: boolean]>([
    [0, 0, 10, 1, true],
    [4, 0, 10, 1, true],
    [5, 0, 10, 1, false],
    [3, 0, 10, 2, true],
    [4, 0, 10, 2, false],
    [2, 4, 10, 1, true],
    [3, 4, 10, 1, false],
    [1, 8, 10, 1, false],
    [0, 0, 10, 10, true],
    [0, 0, 10, 11, false],
    [0, 9, 10, 1, true],
    [0, 10, 10, 1, false],
    [0, 12, 10, 1, false],
    [0, 0, 0, 1, false],
    [3, 5, 10, 0, false],
  ])(
    "with %d of its own, %d of others and a capacity of %d allows %d more: %s",
    (own, others, capacity, size, fits) => {
      expect(fitsShare({ own, others, capacity }, size)).toBe(fits);
    },
  );

  it("is an (n + 1)th when n callers always take as much as they can", () => {
    for (const callers of [1, 2, 3, 7, 20]) {
      const counts = new CallerCounts();
      const capacity = 10_000;
      // Each gives something back now and then, as tasks end, and takes it again.
      for (let round = 0; round < 400; round++) {
        for (let caller = 0; caller < callers; caller++) {
          const name = `c${caller}`;
          counts.add(name, -Math.ceil(counts.of(name) / 10));
          while (counts.fits(name, 1, capacity)) counts.add(name, 1);
        }
      }
      const fair = capacity / (callers + 1);
      for (let caller = 0; caller < callers; caller++) {
        expect(Math.abs(counts.of(`c${caller}`) - fair)).toBeLessThan(fair / 10 + 2);
      }
      expect(counts.fits("new", Math.floor(fair / 2), capacity)).toBe(true);
    }
  });
});

it("the counts of callers are the sums of their changes, and never exceed the capacity while each change fits", () => {
  const caller = fc.constantFrom("a", "b", "c", "d");
  const step = fc.tuple(caller, fc.integer({ min: 1, max: 9 }), fc.boolean());
  fc.assert(
    fc.property(fc.array(step), fc.integer({ min: 0, max: 40 }), (steps, capacity) => {
      const counts = new CallerCounts();
      const expected = new Map<string, number>();
      for (const [name, size, isTaken] of steps) {
        const own = expected.get(name) ?? 0;
        const change = isTaken ? size : -Math.min(size, own);
        if (isTaken && !counts.fits(name, size, capacity)) continue;
        counts.add(name, change);
        expected.set(name, own + change);
      }
      for (const [name, count] of expected) expect(counts.of(name)).toBe(count);
      expect(counts.total).toBe([...expected.values()].reduce((sum, count) => sum + count, 0));
      expect(counts.total).toBeLessThanOrEqual(capacity);
    }),
  );
});
