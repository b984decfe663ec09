import { setImmediate } from "node:timers/promises";

/** A clock that jumps to the time of the next timer. */
export interface VirtualClock {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  sleep(ms: number): Promise<void>;
  /** Calls `work` at this interval until the returned function is called. */
  repeat(work: () => void, everyMs: number): () => void;
  /** Stops the clock until this promise is settled, for work outside the event loop such as hashing. */
  standStillFor(work: Promise<unknown>): void;
  /** Advances the clock by this number of milliseconds. */
  pass(ms: number): Promise<void>;
}

interface TimedEvent {
  readonly at: number;
  /** Events with the same time run in the order in which they were added. */
  readonly order: number;
  readonly begin: () => void;
}

/** The clock starts at the beginning of 2027. */
export function createVirtualClock(start = Date.UTC(2027, 0, 1)): VirtualClock {
  const events: TimedEvent[] = [];
  let now = start;
  let order = 0;
  let stopped: Promise<unknown> | undefined;

  const schedule = (ms: number, begin: () => void): void => {
    push(events, { at: now + Math.max(0, ms), order: order++, begin });
  };

  /** Runs all pending work before the clock advances. */
  const settle = async (): Promise<void> => {
    await setImmediate();
    while (stopped !== undefined) {
      const work = stopped;
      stopped = undefined;
      await work;
      await setImmediate();
    }
  };

  return {
    now: () => now,
    sleep: (ms) => new Promise((wake) => schedule(ms, wake)),
    repeat(work, everyMs) {
      let isOver = false;
      const next = (): void => {
        if (isOver) return;
        work();
        schedule(everyMs, next);
      };
      schedule(everyMs, next);
      return () => {
        isOver = true;
      };
    },
    standStillFor(work) {
      stopped = work;
    },
    async pass(ms) {
      const end = now + ms;
      await settle();
      for (let next = events[0]; next !== undefined && next.at <= end; next = events[0]) {
        pop(events);
        now = next.at;
        next.begin();
        await settle();
      }
      now = end;
    },
  };
}

function isBefore(one: TimedEvent, other: TimedEvent): boolean {
  return one.at === other.at ? one.order < other.order : one.at < other.at;
}

/** Adds an event to a binary heap. The children of index i are at 2i + 1 and 2i + 2. */
function push(heap: TimedEvent[], event: TimedEvent): void {
  let place = heap.length;
  heap.push(event);
  while (place > 0) {
    const parent = (place - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || !isBefore(event, above)) break;
    heap[place] = above;
    place = parent;
  }
  heap[place] = event;
}

/** Removes and returns the first event. */
function pop(heap: TimedEvent[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let place = 0;
  for (;;) {
    const left = 2 * place + 1;
    const [one, other] = [heap[left], heap[left + 1]];
    if (one === undefined) break;
    const isOther = other !== undefined && isBefore(other, one);
    const first = isOther ? other : one;
    if (!isBefore(first, last)) break;
    heap[place] = first;
    place = isOther ? left + 1 : left;
  }
  heap[place] = last;
}
