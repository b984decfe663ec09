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

/** In place of a Set for what comes and goes with each request: see docs/decisions/0011. */
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
