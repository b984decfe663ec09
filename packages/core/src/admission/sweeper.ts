/** Looks at so many entries more, and drops those that are over. */
export type Sweep = (steps: number, now: number) => void;

/**
 * Drops entries that are over, a few at a time, in place of a timer for each. Whoever looks at two entries
 * for each one that is added keeps at most about twice as many as live.
 */
export function createSweeper<Value>(
  entries: ReadonlyMap<string, Value>,
  isOver: (value: Value, now: number) => boolean,
  drop: (key: string) => void,
): Sweep {
  // The iterator of a Map goes on through additions and deletions: a round is continued at the next call.
  let round: MapIterator<[string, Value]> | undefined;
  return (steps, now) => {
    if (entries.size === 0) {
      // Left where it stands it would hold every table that the Map has from now on, see docs/decisions/0011.
      round = undefined;
      return;
    }
    round ??= entries.entries();
    for (let step = 0; step < steps; step++) {
      const next = round.next();
      if (next.done) {
        round = undefined;
        return;
      }
      const [key, value] = next.value;
      if (isOver(value, now)) drop(key);
    }
  };
}
