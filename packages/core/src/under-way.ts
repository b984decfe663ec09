/** Work that a gateway waits for before it closes. */
export interface UnderWay {
  track(work: Promise<unknown>): void;
  /** Resolves when nothing is under way, what begins meanwhile included. */
  finished(): Promise<void>;
}

/** A count and no Set: see docs/decisions/0011. */
export function createUnderWay(): UnderWay {
  let running = 0;
  let idle: PromiseWithResolvers<void> | undefined;
  const isBusy = (): boolean => running > 0;
  const forget = (): void => {
    running -= 1;
    if (isBusy()) return;
    idle?.resolve();
    idle = undefined;
  };
  return {
    track(work) {
      running += 1;
      work.then(forget, forget);
    },
    async finished() {
      // What waited for it may have begun more.
      while (isBusy()) await (idle ??= Promise.withResolvers()).promise;
    },
  };
}
