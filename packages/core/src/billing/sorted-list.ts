/** An item of a list, which holds its neighbours: taking it out needs no search. In at most one list at a time. */
export interface ListItem<T> {
  previous: T | undefined;
  next: T | undefined;
  list: SortedList<T> | undefined;
}

/** Items in an order, of which the first is at hand and any can be taken out. */
export interface SortedList<T> {
  first(): T | undefined;
  /**
   * Adds an item that is in no list. It costs as many steps as it stands away from the nearer end: one where
   * items come in order, as they nearly always do.
   */
  add(item: T): void;
  /** Nothing happens where it is not in here. */
  delete(item: T): void;
}

/** What `isBefore` compares must not change while an item is in the list. */
export function createSortedList<T extends ListItem<T>>(
  isBefore: (one: T, other: T) => boolean,
): SortedList<T> {
  let first: T | undefined;
  let last: T | undefined;

  /** The item after which a new one stands, looked for from both ends at once; `undefined`: at the beginning. */
  function findPrevious(item: T): T | undefined {
    let fromEnd = last;
    let fromStart = first;
    while (fromEnd !== undefined && fromStart !== undefined) {
      if (!isBefore(item, fromEnd)) return fromEnd;
      if (isBefore(item, fromStart)) return fromStart.previous;
      fromEnd = fromEnd.previous;
      fromStart = fromStart.next;
    }
    return undefined;
  }

  function link(previous: T | undefined, next: T | undefined): void {
    if (previous === undefined) first = next;
    else previous.next = next;
    if (next === undefined) last = previous;
    else next.previous = previous;
  }

  const list: SortedList<T> = {
    first: () => first,
    add(item) {
      const previous = findPrevious(item);
      const next = previous === undefined ? first : previous.next;
      item.list = list;
      item.previous = previous;
      item.next = next;
      link(previous, item);
      link(item, next);
    },
    delete(item) {
      if (item.list !== list) return;
      link(item.previous, item.next);
      item.list = undefined;
      item.previous = undefined;
      item.next = undefined;
    },
  };
  return list;
}
