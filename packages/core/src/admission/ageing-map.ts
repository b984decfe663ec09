/** Entries by key, of which the oldest is known. */
export interface AgeingMap<Value> {
  get(key: string): Value | undefined;
  /** Adds an entry as the newest, in place of one with the same key. */
  add(key: string, value: Value): void;
  delete(key: string): void;
  /** The key of the entry that was added first. */
  readonly oldest: string | undefined;
  readonly size: number;
}

interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
  older: Entry<Value> | undefined;
  newer: Entry<Value> | undefined;
}

/**
 * A linked list beside a Map. The Map alone knows the order too, but a look at its first entry passes all that were
 * deleted before it: after 100,000 of them that takes 50 µs, each time.
 */
export function createAgeingMap<Value>(): AgeingMap<Value> {
  const entries = new Map<string, Entry<Value>>();
  let oldest: Entry<Value> | undefined;
  let newest: Entry<Value> | undefined;

  const remove = (key: string): void => {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    if (entry.older === undefined) oldest = entry.newer;
    else entry.older.newer = entry.newer;
    if (entry.newer === undefined) newest = entry.older;
    else entry.newer.older = entry.older;
  };
  return {
    get: (key) => entries.get(key)?.value,
    add(key, value) {
      remove(key);
      const entry: Entry<Value> = { key, value, older: newest, newer: undefined };
      if (newest === undefined) oldest = entry;
      else newest.newer = entry;
      newest = entry;
      entries.set(key, entry);
    },
    delete: remove,
    get oldest() {
      return oldest?.key;
    },
    get size() {
      return entries.size;
    },
  };
}
