import { createLinkedList } from "./collections.js";

/** The longest delay of a timer. A longer delay would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Resolves to true once the promise is fulfilled or rejected, or to false after `ms`. Beyond {@link MAX_TIMER_MS} there is no limit. */
export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  if (ms > MAX_TIMER_MS) return settled;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Keeps a promise in a set until it is settled. Returns a promise that settles when it is no longer there. */
export function keepWhile<T>(set: Set<Promise<unknown>>, work: Promise<T>): Promise<T> {
  const kept = work.finally(() => set.delete(kept));
  set.add(kept);
  return kept;
}

/** The longest time that work may take. */
export interface TimeLimit<T> {
  readonly ms: number;
  readonly createError: () => Error;
  /** Gets a result that came too late. A failure after the time is ignored. */
  readonly onLate?: ((result: T) => void) | undefined;
}

/** Returns the result of the work, or rejects with the error of the limit when the time is over. */
export async function finishWithin<T>(
  work: Promise<T>,
  { ms, createError, onLate = () => {} }: TimeLimit<T>,
): Promise<T> {
  if (await settlesWithin(work, ms)) return work;
  work.then(onLate, () => undefined);
  throw createError();
}

/** Calls `work` every `everyMs` milliseconds until the returned function is called. */
export type Repeat = (work: () => void, everyMs: number) => () => void;

/** Repeats by the runtime's timers, which do not keep a process alive. */
export const repeatByTimer: Repeat = (work, everyMs) => {
  const timer = setInterval(work, everyMs);
  // Outside of Node a timer may be a number.
  if (typeof timer === "object") timer.unref();
  return () => clearInterval(timer);
};

/** Calls `work` every second until the returned function is called. */
export type EverySecond = (work: () => void) => () => void;

/**
 * Repeats all work with one timer, because a timer for each request costs more than the work. The first call of `work` comes
 * after one to two seconds.
 */
export function shareTimer(repeat: Repeat): EverySecond {
  const entries = createLinkedList<SharedWork>();
  let stop: (() => void) | undefined;
  const callAll = (): void => {
    let isIdle = true;
    for (const entry of entries) {
      isIdle = false;
      if (entry.isNew) entry.isNew = false;
      else entry.work();
    }
    if (!isIdle) return;
    stop?.();
    stop = undefined;
  };
  return (work) => {
    const link = entries.add(new SharedWork(work));
    stop ??= repeat(callAll, SECOND_MS);
    return () => entries.delete(link);
  };
}

class SharedWork {
  readonly work: () => void;
  isNew = true;

  constructor(work: () => void) {
    this.work = work;
  }
}

const SECOND_MS = 1_000;

/**
 * A timer for each piece of work, or one for all. On Workers a timer ends with the request that created it, so each request
 * needs its own.
 */
export function createEverySecond(repeat: Repeat): EverySecond {
  return endsTimersWithRequests() ? (work) => repeat(work, SECOND_MS) : shareTimer(repeat);
}

/** True on Workers. */
export function endsTimersWithRequests(): boolean {
  return globalThis.navigator?.userAgent === "Cloudflare-Workers";
}

/** Resolves after `ms`, at most the longest time of a timer, 24 days, or once the signal is aborted. Does not reject. */
export async function sleepByTimer(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, MAX_TIMER_MS));
    signal.addEventListener("abort", end);
  });
}

/** Resolves when the process has done other work that was ready. */
export function startNextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}

/** Calls a method of a ledger, a store or a transport, which may throw in place of a rejection. */
export function callStore<T>(call: () => Promise<T>): Promise<T> {
  try {
    return Promise.resolve(call());
  } catch (error) {
    return Promise.reject(error);
  }
}

/** A `T` or a promise of a `T`. */
export type Awaitable<T> = T | Promise<T>;

/**
 * Whether a value must be awaited. It does not use `instanceof`: queries of Prisma, Drizzle and Knex are not
 * promises, and run only when they are awaited.
 */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
