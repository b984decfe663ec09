/**
 * Counts the requests of each caller in this process, before their bodies are read: the shared count is
 * asked only once a request is understood, and until then a caller could send any number of bodies.
 */
export interface LocalConcurrency {
  /** Enters a request, unless `limit` others of this caller are there. */
  enter(caller: string, limit: number): boolean;
  /** Takes out one that was entered. */
  leave(caller: string): void;
}

/** A count that begins with nobody. */
export function createLocalConcurrency(): LocalConcurrency {
  const counts = new Map<string, number>();
  return {
    enter(caller, limit) {
      const others = counts.get(caller) ?? 0;
      if (others >= limit) return false;
      counts.set(caller, others + 1);
      return true;
    },
    leave(caller) {
      const rest = (counts.get(caller) ?? 1) - 1;
      if (rest > 0) counts.set(caller, rest);
      else counts.delete(caller);
    },
  };
}
