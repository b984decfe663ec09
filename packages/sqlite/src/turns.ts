import { setImmediate as nextImmediate } from "node:timers/promises";
import { assertWanted, type ReportOptions } from "@calotype/core/stores";

/** How long reports may block the process, in milliseconds. Requests wait for at most this time and one slice. */
const TURN_MS = 4;

/** Lets the reports of a ledger take turns with each other and with the requests of the process. */
export interface Turns {
  /**
   * Resolves when a report may read one more slice: at once if the turn is not over, otherwise in a later turn of the event
   * loop, in which no other report begins.
   *
   * @throws DOMException named `AbortError` if the report was stopped
   */
  next(options: ReportOptions): Promise<void>;
}

/** Creates the turns of a ledger. */
export function createTurns(): Turns {
  const waiting: (() => void)[] = [];
  let beganAt = Number.NEGATIVE_INFINITY;
  let isRunning = false;

  const run = async (): Promise<void> => {
    isRunning = true;
    while (waiting.length > 0) {
      await nextImmediate();
      beganAt = performance.now();
      waiting.shift()?.();
    }
    isRunning = false;
  };

  return {
    next: async (options) => {
      assertWanted(options);
      if (performance.now() - beganAt < TURN_MS) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      if (!isRunning) void run();
      await promise;
      assertWanted(options);
    },
  };
}
