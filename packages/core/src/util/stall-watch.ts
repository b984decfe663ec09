/** Something that must make progress, such as the reader of a response. */
export interface Watched {
  /** Set this to {@link HEARD} at each sign of progress. The watch replaces it by the time of the next look. */
  quietSince: number;
  /** How long it may be quiet, in milliseconds; 0 while no progress is expected. */
  maxQuietMs: number;
  /** Called at each look after the time is over, until the entry is deleted. */
  timeOut(): void;
}

/** The value of {@link Watched.quietSince} after progress since the last look. */
export const HEARD = -1;

/** Times out entries that make no progress. One timer serves all entries. */
export interface StallWatch {
  add(entry: Watched): void;
  delete(entry: Watched): void;
}

const LOOK_MS = 250;
/**
 * A longer time between two looks counts as this much: data that arrived while the event loop was blocked was not
 * read yet.
 */
const MAX_STEP_MS = 2 * LOOK_MS;
/**
 * When the last look was longer ago than this, the timer has probably ended: on Workers a timer ends with the request
 * that created it.
 */
const DEAD_MS = 5_000;

/**
 * Looks at all entries every 250 ms, instead of one timer for each. Silence counts from the
 * first look that finds an entry quiet. So an entry is timed out up to two looks late and never early.
 */
export function createStallWatch(): StallWatch {
  const entries = new Set<Watched>();
  let timer: ReturnType<typeof setInterval> | undefined;
  /** A clock that stands still while the event loop is blocked. */
  let clock = 0;
  let lookedAt = 0;

  const look = (): void => {
    const now = Math.floor(performance.now());
    clock += Math.min(now - lookedAt, MAX_STEP_MS);
    lookedAt = now;
    let isIdle = true;
    for (const entry of entries) {
      isIdle = false;
      const { quietSince, maxQuietMs } = entry;
      if (quietSince === HEARD) entry.quietSince = clock;
      // `>` and not `>=`: fractions of a millisecond are not counted.
      else if (maxQuietMs > 0 && clock - quietSince > maxQuietMs) entry.timeOut();
    }
    if (isIdle) stop();
  };

  const start = (): void => {
    clearInterval(timer);
    lookedAt = Math.floor(performance.now());
    timer = setInterval(look, LOOK_MS);
    // The timer must not keep an otherwise finished process alive. Outside of Node it may be a number.
    if (typeof timer === "object") timer.unref();
  };

  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
    clock = 0;
  };

  return {
    add(entry) {
      if (timer === undefined || performance.now() - lookedAt > DEAD_MS) start();
      entries.add(entry);
    },
    /**
     * The timer is stopped by the next look. Stopping it here would create a timer for each request if requests come
     * one after another.
     */
    delete: (entry) => void entries.delete(entry),
  };
}
