import type { ConcurrencyLimit } from "./admission-store.js";
import { createSweeper } from "./sweeper.js";

/** Who runs at once, in this process. */
export interface LeasedPlaces {
  isFull(limit: ConcurrencyLimit, now: number): boolean;
  /** Gives the request of this id a place, whether or not one is free. */
  take(limit: ConcurrencyLimit, id: string, now: number): void;
  giveBack(key: string, id: string): void;
  /** Forgets some of the keys whose places have all lapsed. */
  sweep(steps: number, now: number): void;
  /** Keys that are remembered. */
  readonly size: number;
}

interface Places {
  /** By request, when its lease ends. */
  readonly leases: Map<string, number>;
  /** No lease ends before this. */
  firstEnd: number;
  /** No lease ends after this. */
  lastEnd: number;
}

/** Places that are free again when they are given back, or when their lease has ended. */
export function createLeasedPlaces(): LeasedPlaces {
  const byKey = new Map<string, Places>();
  return {
    isFull({ key, limit }, now) {
      const places = byKey.get(key);
      if (places === undefined || places.leases.size < limit) return false;
      // Only where a lease may have ended is it worth to look at all of them.
      if (places.firstEnd <= now) dropEnded(places, now);
      return places.leases.size >= limit;
    },
    take({ key, leaseMs }, id, now) {
      const places = byKey.get(key) ?? { leases: new Map(), firstEnd: Number.POSITIVE_INFINITY, lastEnd: 0 };
      const end = now + leaseMs;
      places.leases.set(id, end);
      places.firstEnd = Math.min(places.firstEnd, end);
      places.lastEnd = Math.max(places.lastEnd, end);
      byKey.set(key, places);
    },
    giveBack(key, id) {
      const places = byKey.get(key);
      places?.leases.delete(id);
      if (places?.leases.size === 0) byKey.delete(key);
    },
    sweep: createSweeper(
      byKey,
      ({ lastEnd }, now) => lastEnd <= now,
      (key) => byKey.delete(key),
    ),
    get size() {
      return byKey.size;
    },
  };
}

function dropEnded(places: Places, now: number): void {
  places.firstEnd = Number.POSITIVE_INFINITY;
  for (const [id, end] of places.leases) {
    if (end <= now) places.leases.delete(id);
    else places.firstEnd = Math.min(places.firstEnd, end);
  }
}
