import type { Kernel } from "../../kernel/feature.js";
import { settlesWithin } from "../../util/async.js";

const INTERVAL_MS = 3_600_000;
/** The interval is up to this share shorter or longer, so that the processes of a fleet do not sweep at the same time. */
const JITTER = 0.1;
/** A sweep that runs for this long has ended unnoticed, as work does on Workers when its request ends. */
const DEAD_MS = 24 * INTERVAL_MS;
/** How long a gateway that closes waits for a sweep. The next process continues it. */
const LAST_SWEEP_MS = 3_000;

/**
 * Deletes expired images about once an hour, never twice at the same time. A failure is logged once, until a sweep succeeds again.
 *
 * @param sweep deletes the images that expired before a time
 */
export function createSweeper(
  sweep: (before: Date) => Promise<void>,
  { now, random, logger }: Pick<Kernel, "now" | "random" | "logger">,
): { readonly begin: () => undefined; readonly idle: () => Promise<void> } {
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
    begin() {
      const at = performance.now();
      if (at < dueAt || (running !== undefined && at - beganAt < DEAD_MS)) return;
      beganAt = at;
      dueAt = at + INTERVAL_MS * (1 - JITTER + 2 * JITTER * random());
      const own = run().finally(() => {
        if (running === own) running = undefined;
      });
      running = own;
    },
    async idle() {
      await settlesWithin(Promise.resolve(running), LAST_SWEEP_MS);
    },
  };
}
