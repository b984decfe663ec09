import type { Logger } from "../../logger.js";

/** Deletes expired images about once an hour. */
export interface Sweeper {
  /** Begins a sweep if the last one began about an hour ago, or if there was none. Returns at once. */
  runIfDue(): void;
  /** Resolves when the current sweep has ended. */
  finished(): Promise<void>;
}

const INTERVAL_MS = 3_600_000;
/** The interval is up to this share shorter or longer, so that the processes of a fleet do not sweep at the same time. */
const JITTER = 0.1;
/** A sweep that runs for this long has ended unnoticed, as work does on Workers when its request ends. */
const DEAD_MS = 24 * INTERVAL_MS;

interface SweeperParts {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * Sweeps a store, never twice at the same time. A failure is logged once, until a sweep succeeds again.
 *
 * @param sweep deletes the images that expired before a time
 */
export function createSweeper(
  sweep: (before: Date) => Promise<void>,
  { now, random, logger }: SweeperParts,
): Sweeper {
  let running: Promise<void> | undefined;
  let beganAt = 0;
  let dueAt = 0;
  let isFailing = false;

  const run = async (): Promise<void> => {
    try {
      await sweep(new Date(now()));
      isFailing = false;
    } catch (error) {
      if (!isFailing) {
        logger.error(
          { err: error },
          "The store of results could not delete all expired images; trying hourly.",
        );
      }
      isFailing = true;
    }
  };

  return {
    runIfDue() {
      const at = performance.now();
      if (at < dueAt || (running !== undefined && at - beganAt < DEAD_MS)) return;
      beganAt = at;
      dueAt = at + INTERVAL_MS * (1 - JITTER + 2 * JITTER * random());
      const own = run().finally(() => {
        if (running === own) running = undefined;
      });
      running = own;
    },
    async finished() {
      await running;
    },
  };
}
