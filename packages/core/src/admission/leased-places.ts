import type { ConcurrencyLimit } from "./admission-store.js";
import { createSweeper } from "./sweeper.js";

/** Who runs at once, in this process. */
export interface LeasedPlaces {
  /** The first of the limits of which no place is free. */
  findFull(limits: readonly ConcurrencyLimit[], now: number): ConcurrencyLimit | undefined;
  /** Gives the request of this id a place of each, whether or not one is free. */
  take(limits: readonly ConcurrencyLimit[], id: string, now: number): void;
  giveBack(limits: readonly ConcurrencyLimit[], id: string): void;
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

/** Of the keys before a new one, which may have no places; so there are never much more than twice as many as have. */
const SWEPT = 3;

/** Places that are free again when they are given back, or when their lease has ended. */
export function createLeasedPlaces(): LeasedPlaces {
  const byKey = new Map<string, Places>();
  const sweep = createSweeper(
    byKey,
    ({ leases, lastEnd }, now) => leases.size === 0 || lastEnd <= now,
    (key) => byKey.delete(key),
  );

  function isFull({ key, limit }: ConcurrencyLimit, now: number): boolean {
    const places = byKey.get(key);
    if (places === undefined || places.leases.size < limit) return false;
    // Only where a lease may have ended is it worth to look at all of them.
    if (places.firstEnd <= now) dropEnded(places, now);
    return places.leases.size >= limit;
  }

  function begin(key: string, now: number): Places {
    sweep(SWEPT, now);
    const places: Places = { leases: new Map(), firstEnd: Number.POSITIVE_INFINITY, lastEnd: 0 };
    byKey.set(key, places);
    return places;
  }

  return {
    findFull: (limits, now) => limits.find((limit) => isFull(limit, now)),
    take(limits, id, now) {
      for (const { key, leaseMs } of limits) {
        const places = byKey.get(key) ?? begin(key, now);
        const end = now + leaseMs;
        places.leases.set(id, end);
        places.firstEnd = Math.min(places.firstEnd, end);
        places.lastEnd = Math.max(places.lastEnd, end);
      }
    },
    giveBack(limits, id) {
      for (const { key } of limits) byKey.get(key)?.leases.delete(id);
    },
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
