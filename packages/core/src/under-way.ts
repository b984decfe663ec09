/** Work that a gateway waits for before it closes. */
export interface UnderWay {
  track(work: Promise<unknown>): void;
  /** Resolves when nothing is under way, what begins meanwhile included. */
  finished(): Promise<void>;
}

export function createUnderWay(): UnderWay {
  const running = new Set<Promise<unknown>>();
  return {
    track(work) {
      running.add(work);
      const forget = (): void => void running.delete(work);
      work.then(forget, forget);
    },
    async finished() {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}
