import { createLinkedList, type Link } from "../linked-list.js";

/** An exchange as its watch sees it. */
export interface Watched {
  /** Set to {@link HEARD} with all that happens; the watch writes here since when nothing has. */
  quietSince: number;
  /** For how long it may be quiet; 0 while nothing is waited for. */
  maxQuietMs: number;
  /** Called by each look, from the first after its time is over until it is deleted. */
  timeOut(): void;
}

/** What {@link Watched.quietSince} is where something has happened since the last look. */
export const HEARD = -1;

/** Fails exchanges that stall. */
export interface StallWatch {
  add(exchange: Watched): Link<Watched>;
  /** To be called once with each link. */
  delete(link: Link<Watched>): void;
}

const LOOK_MS = 250;
/** Of a longer time between two looks no more is counted: what came in it has yet to be read. */
const MAX_STEP_MS = 2 * LOOK_MS;

/**
 * Looks at all exchanges under way now and then, in place of timers of undici's for each: see docs/decisions/0017.
 * The silence of an exchange counts from the first look that finds it quiet, so that it is failed up to two looks
 * late and never early.
 */
export function createStallWatch(): StallWatch {
  const exchanges = createLinkedList<Watched>();
  let timer: ReturnType<typeof setInterval> | undefined;
  /** A clock that stands still while the event loop is blocked. */
  let clock = 0;
  let lookedAt = 0;

  const look = (): void => {
    const now = Math.floor(performance.now());
    clock += Math.min(now - lookedAt, MAX_STEP_MS);
    lookedAt = now;
    let isIdle = true;
    for (const exchange of exchanges) {
      isIdle = false;
      const { quietSince, maxQuietMs } = exchange;
      if (quietSince === HEARD) exchange.quietSince = clock;
      // More and not as much: parts of a millisecond are not counted.
      else if (maxQuietMs > 0 && clock - quietSince > maxQuietMs) exchange.timeOut();
    }
    if (isIdle) stop();
  };

  const start = (): void => {
    lookedAt = Math.floor(performance.now());
    timer = setInterval(look, LOOK_MS);
    // A process that has nothing else to do may end.
    timer.unref();
  };

  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
    clock = 0;
  };

  return {
    add(exchange) {
      if (timer === undefined) start();
      return exchanges.add(exchange);
    },
    /** The timer is left to the next look, for where requests come one by one each would make one of its own. */
    delete: (link) => exchanges.delete(link),
  };
}
