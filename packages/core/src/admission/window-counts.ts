import type { WindowLimit, WindowState } from "./admission-store.js";
import { createSweeper } from "./sweeper.js";

/** Counts in windows of time, in this process. */
export interface WindowCounts {
  /** What is left before the limit's cost is taken. */
  stateOf(limit: WindowLimit, now: number): WindowState;
  /** Takes the cost, whether or not it fits, and tells what is left. */
  take(limit: WindowLimit, now: number): WindowState;
  /** Forgets some of the windows that have ended. */
  sweep(steps: number, now: number): void;
  /** Windows that are remembered. */
  readonly size: number;
}

interface Window {
  count: number;
  endsAt: number;
}

/** Windows that begin with the first count in them. */
export function createWindowCounts(): WindowCounts {
  const windows = new Map<string, Window>();
  const findRunning = ({ key, windowMs }: WindowLimit, now: number): Window | undefined => {
    const window = windows.get(key);
    if (window === undefined || window.endsAt <= now) return undefined;
    // A clock that was set back must not make it longer.
    window.endsAt = Math.min(window.endsAt, now + windowMs);
    return window;
  };
  return {
    stateOf: (limit, now) => toState(limit, findRunning(limit, now), now),
    take(limit, now) {
      const window = findRunning(limit, now) ?? { count: 0, endsAt: now + limit.windowMs };
      window.count += limit.cost;
      windows.set(limit.key, window);
      return toState(limit, window, now);
    },
    sweep: createSweeper(
      windows,
      ({ endsAt }, now) => endsAt <= now,
      (key) => windows.delete(key),
    ),
    get size() {
      return windows.size;
    },
  };
}

function toState({ limit }: WindowLimit, window: Window | undefined, now: number): WindowState {
  if (window === undefined) return { remaining: limit, resetMs: 0 };
  // A limit that the operator lowered can be below what was counted.
  return { remaining: Math.max(0, limit - window.count), resetMs: window.endsAt - now };
}
