/** Items in an order, of which the first is at hand and any can be taken out; each in O(log n). */
export interface IndexedHeap<T> {
  first(): T | undefined;
  /** Each item at most once. */
  add(item: T): void;
  /** Nothing happens where it is not in here. */
  delete(item: T): void;
}

/** A binary heap that knows where each item is. What `isBefore` compares must not change while an item is in it. */
export function createIndexedHeap<T>(isBefore: (one: T, other: T) => boolean): IndexedHeap<T> {
  const items: T[] = [];
  const places = new Map<T, number>();

  function put(item: T, place: number): void {
    items[place] = item;
    places.set(item, place);
  }

  /** Moves what must come after the item down, from the place up. Returns the place that is then free. */
  function rise(item: T, from: number): number {
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = items[above];
      if (parent === undefined || !isBefore(item, parent)) break;
      put(parent, place);
      place = above;
    }
    return place;
  }

  /** Moves what must come before the item up, from the place down. Returns the place that is then free. */
  function sink(item: T, from: number): number {
    let place = from;
    for (;;) {
      const below = firstChildOf(place);
      const child = items[below];
      if (child === undefined || !isBefore(child, item)) return place;
      put(child, place);
      place = below;
    }
  }

  function firstChildOf(place: number): number {
    const left = 2 * place + 1;
    const [one, other] = [items[left], items[left + 1]];
    return one !== undefined && other !== undefined && isBefore(other, one) ? left + 1 : left;
  }

  return {
    first: () => items[0],
    add(item) {
      put(item, rise(item, items.length));
    },
    delete(item) {
      const place = places.get(item);
      if (place === undefined) return;
      places.delete(item);
      const last = items.pop();
      if (last !== undefined && last !== item) put(last, sink(last, rise(last, place)));
    },
  };
}
