/** Work that a gateway waits for before it closes. */
export interface UnderWay {
  track(work: Promise<unknown>): void;
  /** Resolves when nothing is under way, what begins meanwhile included. */
  finished(): Promise<void>;
}

/**
 * Uses a count instead of a `Set`. A `Set` whose entries come and go with requests keeps old tables alive in V8, and
 * through them finished requests, until the next full garbage collection.
 */
export function createUnderWay(): UnderWay {
  /** Counted and not listed: each entry of a list would be held as long as its work, which may be an open stream. */
  let running = 0;
  let waiting: (() => void)[] = [];
  const forget = (): void => {
    running -= 1;
    if (running > 0) return;
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  const finished = async (): Promise<void> => {
    if (running === 0) return;
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
    });
    // What has begun meanwhile is waited for, too.
    await finished();
  };
  return {
    track(work) {
      running += 1;
      work.then(forget, forget);
    },
    finished,
  };
}
