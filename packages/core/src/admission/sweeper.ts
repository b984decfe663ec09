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
  let round = entries.entries();
  return (steps, now) => {
    if (entries.size === 0) return;
    for (let step = 0; step < steps; step++) {
      const next = round.next();
      if (next.done) {
        round = entries.entries();
        return;
      }
      const [key, value] = next.value;
      if (isOver(value, now)) drop(key);
    }
  };
}
