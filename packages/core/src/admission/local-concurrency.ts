/**
 * Counts the requests of each caller in this process, before their bodies are read: the shared count is
 * asked only once a request is understood, and until then a caller could send any number of bodies.
 */
export interface LocalConcurrency {
  /** Enters a request: the function by which it leaves, or `undefined` when `limit` others are there. */
  enter(caller: string, limit: number): (() => void) | undefined;
}

/** A count that begins with nobody. */
export function createLocalConcurrency(): LocalConcurrency {
  const counts = new Map<string, number>();
  return {
    enter(caller, limit) {
      const others = counts.get(caller) ?? 0;
      if (others >= limit) return undefined;
      counts.set(caller, others + 1);
      let hasLeft = false;
      return () => {
        if (hasLeft) return;
        hasLeft = true;
        const rest = (counts.get(caller) ?? 1) - 1;
        if (rest > 0) counts.set(caller, rest);
        else counts.delete(caller);
      };
    },
  };
}
