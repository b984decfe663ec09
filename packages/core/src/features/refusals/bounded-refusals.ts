import type { Refusal } from "./refusal.js";

/** Refusals in memory. */
export interface BoundedRefusals {
  readonly size: number;
  /** Adds a refusal. If there is no room, the oldest one of the caller with the most refusals is removed. */
  add(refusal: Refusal): void;
  find(id: string): Refusal | undefined;
  /** The oldest first. */
  all(): readonly Refusal[];
  /** Removes all refusals and returns them. */
  takeAll(): readonly Refusal[];
}

/**
 * Creates a list of at most `max` refusals. Callers share it evenly, so that many refusals of one caller remove only its own.
 * Those without a caller count as one caller.
 */
export function createBoundedRefusals(max: number): BoundedRefusals {
  /** In the order in which they were added. */
  const byId = new Map<string, Refusal>();
  /** The ids of each caller, in the same order. */
  const byCaller = new Map<string, Set<string>>();

  const remove = (caller: string): void => {
    const ids = byCaller.get(caller);
    const [oldest] = ids ?? [];
    if (ids === undefined || oldest === undefined) return;
    byId.delete(oldest);
    ids.delete(oldest);
    if (ids.size === 0) byCaller.delete(caller);
  };
  const findLargest = (): string => {
    let largest = "";
    let size = 0;
    for (const [caller, ids] of byCaller) if (ids.size > size) [largest, size] = [caller, ids.size];
    return largest;
  };

  return {
    get size() {
      return byId.size;
    },
    add(refusal) {
      if (byId.has(refusal.id)) return;
      const caller = refusal.caller ?? "";
      const own = byCaller.get(caller)?.size ?? 0;
      // A caller with at least its share makes room itself, so that a flood of refusals searches nothing.
      if (byId.size >= max) remove(own * byCaller.size >= max ? caller : findLargest());
      byId.set(refusal.id, refusal);
      const ids = byCaller.get(caller);
      if (ids === undefined) byCaller.set(caller, new Set([refusal.id]));
      else ids.add(refusal.id);
    },
    find: (id) => byId.get(id),
    all: () => [...byId.values()],
    takeAll() {
      const all = [...byId.values()];
      byId.clear();
      byCaller.clear();
      return all;
    },
  };
}
