import { setImmediate } from "node:timers/promises";
import type { Repeat } from "../util/async.js";

/** A clock for repeated work that the test moves forward. */
export interface ManualClock {
  readonly repeat: Repeat;
  /** The number of running timers. */
  readonly running: number;
  /** Moves the clock forward by this number of seconds, and waits for the work that this causes. */
  tick(seconds: number): Promise<void>;
}

/** Replaces the timers that repeat every second; ignores others. */
export function createManualClock(): ManualClock {
  const works = new Set<() => void>();
  return {
    get running() {
      return works.size;
    },
    repeat(work, everyMs) {
      if (everyMs !== 1_000) return () => undefined;
      // A new function, because the same work may be registered twice.
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
