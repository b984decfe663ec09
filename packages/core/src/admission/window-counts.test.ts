import { describe, expect, it } from "vitest";
import type { WindowLimit } from "./admission-store.js";
import { createWindowCounts } from "./window-counts.js";

const LIMIT: WindowLimit = { name: "images", key: "a", limit: 10, windowMs: 1_000, cost: 3 };

describe("createWindowCounts", () => {
  it("a window begins with the first count in it and ends to the millisecond", () => {
    const counts = createWindowCounts();
    expect(counts.statesOf([LIMIT], 5_000)).toEqual([{ remaining: 10, resetMs: 0 }]);
    expect(counts.take([LIMIT], 5_000)).toEqual([{ remaining: 7, resetMs: 1_000 }]);
    expect(counts.take([LIMIT], 5_999)).toEqual([{ remaining: 4, resetMs: 1 }]);
    expect(counts.take([LIMIT], 6_000)).toEqual([{ remaining: 7, resetMs: 1_000 }]);
  });

  it("a clock that is set back makes a window no longer, and loses no count", () => {
    const counts = createWindowCounts();
    counts.take([LIMIT], 3_600_000);
    expect(counts.statesOf([LIMIT], 0)).toEqual([{ remaining: 7, resetMs: 1_000 }]);
    expect(counts.take([LIMIT], 999)).toEqual([{ remaining: 4, resetMs: 1 }]);
    expect(counts.statesOf([LIMIT], 1_000)).toEqual([{ remaining: 10, resetMs: 0 }]);
  });

  it("less than nothing is never left when the operator lowers a limit", () => {
    const counts = createWindowCounts();
    counts.take([LIMIT], 0);
    expect(counts.statesOf([{ ...LIMIT, limit: 2 }], 0)).toEqual([{ remaining: 0, resetMs: 1_000 }]);
  });

  it("the first limit that has no room for its cost is reached", () => {
    const counts = createWindowCounts();
    const limits = [LIMIT, { ...LIMIT, key: "b", limit: 8 }, { ...LIMIT, key: "c", limit: 7 }];
    counts.take(limits, 0);
    expect(counts.findReached(limits, 999)).toBeUndefined();
    counts.take(limits, 999);
    expect(counts.findReached(limits, 999)).toBe(limits[1]);
    expect(counts.findReached(limits, 1_000)).toBeUndefined();
  });

  it("a million keys over time are never many at a time", () => {
    const counts = createWindowCounts();
    let most = 0;
    for (let now = 0; now < 1_000_000; now++) {
      counts.take([{ ...LIMIT, key: String(now) }], now);
      most = Math.max(most, counts.size);
    }
    // A thousand are live at any time.
    expect(most).toBeLessThan(2_100);
  });
});
