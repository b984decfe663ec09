import type { WindowLimit, WindowState } from "./admission-store.js";
import { createSweeper } from "./sweeper.js";

/** Counts in windows of time, in this process. */
export interface WindowCounts {
  /** The first of the limits that has no room for its cost. */
  findReached(limits: readonly WindowLimit[], now: number): WindowLimit | undefined;
  /** What is left of each before its cost is taken. */
  statesOf(limits: readonly WindowLimit[], now: number): WindowState[];
  /** Takes the cost of each, whether or not it fits, and tells what is left. */
  take(limits: readonly WindowLimit[], now: number): WindowState[];
  /** Windows that are remembered. */
  readonly size: number;
}

interface Window {
  count: number;
  endsAt: number;
}

/** Of the windows before a new one, which may be over; so there are never much more than twice as many as run. */
const SWEPT = 3;

/** Windows that begin with the first count in them. */
export function createWindowCounts(): WindowCounts {
  const windows = new Map<string, Window>();
  const sweep = createSweeper(windows, hasEnded, (key) => windows.delete(key));

  function findRunning({ key, windowMs }: WindowLimit, now: number): Window | undefined {
    const window = windows.get(key);
    if (window === undefined || hasEnded(window, now)) return undefined;
    // A clock that was set back must not make it longer.
    window.endsAt = Math.min(window.endsAt, now + windowMs);
    return window;
  }

  function begin({ key, windowMs }: WindowLimit, now: number): Window {
    sweep(SWEPT, now);
    const window: Window = { count: 0, endsAt: now + windowMs };
    windows.set(key, window);
    return window;
  }

  return {
    findReached(limits, now) {
      for (const limit of limits) {
        if (limit.cost > countRemaining(limit, findRunning(limit, now))) return limit;
      }
      return undefined;
    },
    statesOf: (limits, now) => limits.map((limit) => toState(limit, findRunning(limit, now), now)),
    take(limits, now) {
      const states: WindowState[] = [];
      for (const limit of limits) {
        const window = findRunning(limit, now) ?? begin(limit, now);
        window.count += limit.cost;
        states.push(toState(limit, window, now));
      }
      return states;
    },
    get size() {
      return windows.size;
    },
  };
}

function hasEnded({ endsAt }: Window, now: number): boolean {
  return endsAt <= now;
}

function toState(limit: WindowLimit, window: Window | undefined, now: number): WindowState {
  const remaining = countRemaining(limit, window);
  return { remaining, resetMs: window === undefined ? 0 : window.endsAt - now };
}

/** A limit that the operator lowered can be below what was counted. */
function countRemaining({ limit }: WindowLimit, window: Window | undefined): number {
  return Math.max(0, limit - (window?.count ?? 0));
}
