/** A map whose entries end at some time. */
export interface ExpiringMap<Value> {
  /** Returns the value of an entry that has not ended. */
  get(key: string, now: number): Value | undefined;
  set(key: string, value: Value, now: number): void;
  delete(key: string): void;
  /** The number of entries in memory, including ended ones that are not removed yet. */
  readonly size: number;
}

const MIN_SIZE_TO_SWEEP = 64;

/**
 * Creates a map that removes ended entries without a timer: `set` looks at all entries each time the map has doubled
 * since it last did so. The map therefore holds at most about twice as many entries as have not ended.
 *
 * @param hasEnded called with milliseconds since 1970
 */
export function createExpiringMap<Value>(
  hasEnded: (value: Value, now: number) => boolean,
): ExpiringMap<Value> {
  const entries = new Map<string, Value>();
  let sizeToSweep = MIN_SIZE_TO_SWEEP;

  const sweep = (now: number): void => {
    for (const [key, value] of entries) if (hasEnded(value, now)) entries.delete(key);
    sizeToSweep = Math.max(MIN_SIZE_TO_SWEEP, 2 * entries.size);
  };
  return {
    get(key, now) {
      const value = entries.get(key);
      return value === undefined || hasEnded(value, now) ? undefined : value;
    },
    set(key, value, now) {
      if (entries.size >= sizeToSweep) sweep(now);
      entries.set(key, value);
    },
    delete(key) {
      entries.delete(key);
    },
    get size() {
      return entries.size;
    },
  };
}
