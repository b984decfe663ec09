import { describe, expect, it } from "vitest";
import type { ConcurrencyLimit } from "./admission-store.js";
import { createLeasedPlaces, type LeasedPlaces } from "./leased-places.js";

const LIMIT = { key: "a", limit: 2, leaseMs: 1_000 };

describe("createLeasedPlaces", () => {
  it("are full at the limit, and free again when one is given back", () => {
    const places = createLeasedPlaces();
    places.take([LIMIT], "first", 0);
    expect(places.findFull([LIMIT], 0)).toBeUndefined();
    places.take([LIMIT], "second", 0);
    expect(places.findFull([LIMIT], 0)).toBe(LIMIT);
    places.giveBack([LIMIT], "first");
    places.giveBack([LIMIT], "first");
    expect(places.findFull([LIMIT], 0)).toBeUndefined();
  });

  it("are free again when their lease has ended, to the millisecond", () => {
    const places = createLeasedPlaces();
    places.take([LIMIT], "first", 0);
    places.take([{ ...LIMIT, leaseMs: 5_000 }], "second", 0);
    expect(places.findFull([LIMIT], 999)).toBe(LIMIT);
    expect(places.findFull([LIMIT], 1_000)).toBeUndefined();
    places.take([LIMIT], "third", 1_000);
    expect(places.findFull([LIMIT], 1_999)).toBe(LIMIT);
    expect(places.findFull([LIMIT], 2_000)).toBeUndefined();
  });

  it.each([
    ["nobody gave", () => {}],
    ["are given", (places: LeasedPlaces, limit: ConcurrencyLimit) => places.giveBack([limit], "a request")],
  ])("that %s back are forgotten in time", (_who, end) => {
    const places = createLeasedPlaces();
    let most = 0;
    for (let now = 0; now < 100_000; now++) {
      const limit = { ...LIMIT, key: String(now) };
      places.take([limit], "a request", now);
      end(places, limit);
      most = Math.max(most, places.size);
    }
    expect(most).toBeLessThan(2_100);
  });
});
