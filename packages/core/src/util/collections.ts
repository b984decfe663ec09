/** The entry of a value in a list, by which it is removed. A class, because V8 may give literals long-lived memory. */
export class Link<T> {
  readonly value: T;
  previous: Link<T> | undefined = undefined;
  next: Link<T> | undefined = undefined;
  isDeleted = false;

  constructor(value: T) {
    this.value = value;
  }
}

/** Values in the order in which they were added. */
export interface LinkedList<T> extends Iterable<T> {
  /** The value that was added before all others. */
  readonly first: T | undefined;
  /** @param link a deleted link of the value, which is used again */
  add(value: T, link?: Link<T>): Link<T>;
  /** A second call with the same link does nothing. */
  delete(link: Link<T>): void;
}

/**
 * Creates a list for values that come and go with requests. A `Set` would do the same, but V8 copies its entries to new
 * tables, and an old table that reached the old generation keeps finished requests alive until the next full garbage
 * collection.
 */
export function createLinkedList<T>(): LinkedList<T> {
  let first: Link<T> | undefined;
  let last: Link<T> | undefined;
  return {
    get first() {
      return first?.value;
    },
    add(value, link = new Link(value)) {
      link.isDeleted = false;
      link.previous = last;
      if (last === undefined) first = link;
      else last.next = link;
      last = link;
      return link;
    },
    delete(link) {
      if (link.isDeleted) return;
      link.isDeleted = true;
      const { previous, next } = link;
      if (previous === undefined) first = next;
      else previous.next = next;
      if (next === undefined) last = previous;
      else next.previous = previous;
      link.previous = undefined;
      link.next = undefined;
    },
    *[Symbol.iterator]() {
      let link = first;
      while (link !== undefined) {
        // The caller may remove it.
        const { value, next } = link;
        yield value;
        link = next;
      }
    },
  };
}

/** Removes the entries that were added first, so that at most `max` are left. */
export function removeOldest<Key>(entries: Map<Key, unknown> | Set<Key>, max: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= max) return;
    entries.delete(key);
  }
}

/** Creates a list of listeners to changes. A listener must not throw. */
export function createListeners<Change = void>() {
  const all = new Set<(change: Change) => void>();
  return {
    tell: (change: Change): void => {
      for (const listener of all) listener(change);
    },
    /** Returns the function that ends this. */
    watch: (listener: (change: Change) => void): (() => void) => {
      // A function of its own, so that the same listener may watch twice.
      const own = (change: Change): void => listener(change);
      all.add(own);
      return () => void all.delete(own);
    },
  };
}
