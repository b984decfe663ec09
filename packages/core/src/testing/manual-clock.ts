import { setImmediate } from "node:timers/promises";
import type { Repeat } from "../util/async.js";

/** Repeated work that runs when a test says so. */
export interface ManualClock {
  readonly repeat: Repeat;
  /** How many are running. */
  readonly running: number;
  /** Lets so many seconds pass, and what they cause happen. */
  tick(seconds: number): Promise<void>;
}

/** For everything that is repeated each second; other work is left out. */
export function createManualClock(): ManualClock {
  const works = new Set<() => void>();
  return {
    get running() {
      return works.size;
    },
    repeat(work, everyMs) {
      if (everyMs !== 1_000) return () => undefined;
      // A function of its own, since the same work may be repeated twice.
      const run = (): void => work();
      works.add(run);
      return () => void works.delete(run);
    },
    async tick(seconds) {
      for (let second = 0; second < seconds; second++) {
        await setImmediate();
        for (const work of works) work();
      }
      await setImmediate();
    },
  };
}
