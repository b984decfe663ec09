/** Finds the entries that are first in an order, among all that are added. */
export interface FirstIds {
  /** The value of the last one, if there are as many as wanted: only an entry with a better value is added. */
  last(): number | undefined;
  /** Of equal values, the one that was added earlier is first. */
  add(value: number, id: string): void;
  /** The ids in order. It empties the entries, and calls `next` before each part of the work. */
  sorted(next: () => Promise<void>): Promise<string[]>;
}

interface NumberedId {
  readonly value: number;
  /** How many entries were added before. */
  readonly number: number;
  readonly id: string;
}

/** How many entries are sorted in one turn of the process: about a millisecond. */
const ENTRIES_PER_TURN = 1_000;

/**
 * Keeps the first `limit` entries in a heap whose root is the last of them: so each entry that is added, and each that is taken out,
 * costs a few comparisons, and none of it blocks the process for long.
 */
export function createFirst(limit: number, isDescending: boolean): FirstIds {
  const heap: NumberedId[] = [];
  let added = 0;
  const isAfter = (one: NumberedId, other: NumberedId): boolean =>
    one.value === other.value ? one.number > other.number : one.value < other.value === isDescending;

  const put = (at: number, entry: NumberedId): void => {
    heap[at] = entry;
  };
  const moveUp = (entry: NumberedId, from: number): void => {
    let at = from;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isAfter(entry, parent)) break;
      put(at, parent);
      at = above;
    }
    put(at, entry);
  };
  const moveDown = (entry: NumberedId): void => {
    let at = 0;
    for (;;) {
      const left = heap[2 * at + 1];
      const right = heap[2 * at + 2];
      const isRight = right !== undefined && left !== undefined && isAfter(right, left);
      const below = isRight ? right : left;
      if (below === undefined || !isAfter(below, entry)) break;
      put(at, below);
      at = 2 * at + (isRight ? 2 : 1);
    }
    put(at, entry);
  };

  return {
    last: () => (heap.length < limit ? undefined : heap[0]?.value),
    add(value, id) {
      const entry: NumberedId = { value, number: added++, id };
      const [root] = heap;
      if (heap.length < limit) moveUp(entry, heap.length);
      else if (root !== undefined && isAfter(root, entry)) moveDown(entry);
    },
    async sorted(next) {
      const ids: string[] = Array.from({ length: heap.length });
      for (let at = heap.length - 1; at >= 0; at--) {
        if (at % ENTRIES_PER_TURN === 0) await next();
        const [root] = heap;
        const end = heap.pop();
        if (root === undefined || end === undefined) break;
        ids[at] = root.id;
        if (heap.length > 0) moveDown(end);
      }
      return ids;
    },
  };
}
