import { setImmediate } from "node:timers/promises";

/** A clock that jumps to the time of the next timer. */
export interface VirtualTime {
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** Moves the time forward until the work is done. */
  run<T>(work: Promise<T>): Promise<T>;
}

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

export function createVirtualTime(start = 1_800_000_000_000): VirtualTime {
  let now = start;
  const sleepers: Sleeper[] = [];

  const wakeNext = (): void => {
    const at = Math.min(...sleepers.map((sleeper) => sleeper.at));
    const index = sleepers.findIndex((sleeper) => sleeper.at === at);
    const [next] = sleepers.splice(index, 1);
    now = Math.max(now, at);
    next?.wake();
  };

  return {
    now: () => now,
    sleep: (ms) => new Promise((wake) => sleepers.push({ at: now + ms, wake })),
    async run(work) {
      let isDone = false;
      const end = (): void => {
        isDone = true;
      };
      work.then(end, end);
      for (;;) {
        // All promises that can continue do so before the time moves on.
        await setImmediate();
        if (isDone) return work;
        if (sleepers.length === 0) throw new Error("The work is not done, but there is no timer.");
        wakeNext();
      }
    },
  };
}
