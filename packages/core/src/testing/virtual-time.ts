import { setImmediate } from "node:timers/promises";

/** A clock that jumps to the next thing that waits for it. */
export interface VirtualTime {
  readonly now: () => number;
  sleep(ms: number): Promise<void>;
  /** Lets the time pass until the work is done. */
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
        // All promises that can go on do so, before the time passes.
        await setImmediate();
        if (isDone) return work;
        if (sleepers.length === 0) throw new Error("Nothing waits for the time, and the work is not done.");
        wakeNext();
      }
    },
  };
}
