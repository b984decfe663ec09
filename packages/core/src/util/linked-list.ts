/** The place of a value in a list; what it is taken out by. */
export interface Link<T> {
  readonly value: T;
  previous: Link<T> | undefined;
  next: Link<T> | undefined;
}

/** Values that come and go, in the order in which they came. */
export interface LinkedList<T> extends Iterable<T> {
  add(value: T): Link<T>;
  /** To be called once with each link. */
  delete(link: Link<T>): void;
}

/**
 * Replaces a `Set` for entries that come and go with each request. V8 rebuilds the table of a `Set` after many deletions,
 * and an old table refers to its successor. Once an old table is in the old generation, finished requests stay in memory
 * until the next full garbage collection. Measured with small JSON requests, 32 at once: 7.2 kB of each request moved to
 * the old generation with a `Set`, 1.0 kB with this list.
 */
export function createLinkedList<T>(): LinkedList<T> {
  let first: Link<T> | undefined;
  let last: Link<T> | undefined;
  return {
    add(value) {
      const link: Link<T> = { value, previous: last, next: undefined };
      if (last === undefined) first = link;
      else last.next = link;
      last = link;
      return link;
    },
    delete(link) {
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
        // The reader may take it out.
        const { value, next } = link;
        yield value;
        link = next;
      }
    },
  };
}
