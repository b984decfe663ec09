import { describe, expect, it } from "vitest";
import { createLeasedPlaces } from "./leased-places.js";

const LIMIT = { key: "a", limit: 2, leaseMs: 1_000 };

describe("createLeasedPlaces", () => {
  it("are full at the limit, and free again when one is given back", () => {
    const places = createLeasedPlaces();
    places.take(LIMIT, "first", 0);
    expect(places.isFull(LIMIT, 0)).toBe(false);
    places.take(LIMIT, "second", 0);
    expect(places.isFull(LIMIT, 0)).toBe(true);
    places.giveBack("a", "first");
    places.giveBack("a", "first");
    expect(places.isFull(LIMIT, 0)).toBe(false);
    places.giveBack("a", "second");
    expect(places.size).toBe(0);
  });

  it("are free again when their lease has ended, to the millisecond", () => {
    const places = createLeasedPlaces();
    places.take(LIMIT, "first", 0);
    places.take({ ...LIMIT, leaseMs: 5_000 }, "second", 0);
    expect(places.isFull(LIMIT, 999)).toBe(true);
    expect(places.isFull(LIMIT, 1_000)).toBe(false);
    places.take(LIMIT, "third", 1_000);
    expect(places.isFull(LIMIT, 1_999)).toBe(true);
    expect(places.isFull(LIMIT, 2_000)).toBe(false);
  });

  it("that nobody gave back are forgotten in time", () => {
    const places = createLeasedPlaces();
    let most = 0;
    for (let now = 0; now < 100_000; now++) {
      places.sweep(3, now);
      places.take({ ...LIMIT, key: String(now) }, "dead", now);
      most = Math.max(most, places.size);
    }
    expect(most).toBeLessThan(2_100);
  });
});
