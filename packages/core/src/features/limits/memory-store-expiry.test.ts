import { describe, expect, it } from "vitest";
import { createExpiringMap, type ExpiringMap } from "./memory-store.js";

const open = (): ExpiringMap<number> => createExpiringMap((endsAt, now) => endsAt <= now);

describe("createExpiringMap", () => {
  it("returns an entry until it ends, to the millisecond", () => {
    const map = open();
    map.set("a", 1_000, 0);
    expect(map.get("a", 999)).toBe(1_000);
    expect(map.get("a", 1_000)).toBeUndefined();
    expect(map.get("b", 0)).toBeUndefined();
  });

  it("returns no deleted entry", () => {
    const map = open();
    map.set("a", 1_000, 0);
    map.delete("a");
    expect(map.get("a", 0)).toBeUndefined();
    expect(map.size).toBe(0);
  });

  it("holds about twice as many entries as have not ended, out of a million", () => {
    const map = open();
    let most = 0;
    for (let now = 0; now < 1_000_000; now++) {
      map.set(String(now), now + 1_000, now);
      most = Math.max(most, map.size);
    }
    expect(most).toBeGreaterThanOrEqual(1_000);
    expect(most).toBeLessThan(2_100);
    expect(map.get("999999", 1_000_000)).toBeDefined();
  });

  it("keeps all entries that have not ended, however many there are", () => {
    const map = open();
    for (let index = 0; index < 10_000; index++) map.set(String(index), 1_000, 0);
    for (let index = 0; index < 10_000; index++) expect(map.get(String(index), 999)).toBe(1_000);
  });
});
