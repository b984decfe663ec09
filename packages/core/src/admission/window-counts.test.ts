import { describe, expect, it } from "vitest";
import type { WindowLimit } from "./admission-store.js";
import { createWindowCounts } from "./window-counts.js";

const LIMIT: WindowLimit = { name: "images", key: "a", limit: 10, windowMs: 1_000, cost: 3 };

describe("createWindowCounts", () => {
  it("a window begins with the first count in it and ends to the millisecond", () => {
    const counts = createWindowCounts();
    expect(counts.stateOf(LIMIT, 5_000)).toEqual({ remaining: 10, resetMs: 0 });
    expect(counts.take(LIMIT, 5_000)).toEqual({ remaining: 7, resetMs: 1_000 });
    expect(counts.take(LIMIT, 5_999)).toEqual({ remaining: 4, resetMs: 1 });
    expect(counts.take(LIMIT, 6_000)).toEqual({ remaining: 7, resetMs: 1_000 });
  });

  it("a clock that is set back makes a window no longer, and loses no count", () => {
    const counts = createWindowCounts();
    counts.take(LIMIT, 3_600_000);
    expect(counts.stateOf(LIMIT, 0)).toEqual({ remaining: 7, resetMs: 1_000 });
    expect(counts.take(LIMIT, 999)).toEqual({ remaining: 4, resetMs: 1 });
    expect(counts.stateOf(LIMIT, 1_000)).toEqual({ remaining: 10, resetMs: 0 });
  });

  it("less than nothing is never left when the operator lowers a limit", () => {
    const counts = createWindowCounts();
    counts.take(LIMIT, 0);
    expect(counts.stateOf({ ...LIMIT, limit: 2 }, 0)).toEqual({ remaining: 0, resetMs: 1_000 });
  });

  it("a million keys over time are never many at a time", () => {
    const counts = createWindowCounts();
    let most = 0;
    for (let now = 0; now < 1_000_000; now++) {
      counts.sweep(3, now);
      counts.take({ ...LIMIT, key: String(now) }, now);
      most = Math.max(most, counts.size);
    }
    // A thousand are live at any time.
    expect(most).toBeLessThan(2_100);
  });
});
