// Vitest loads this file before each test file. `vi.waitFor` and `vi.waitUntil` give up after one second, which a busy machine
// exceeds, and look every 50 ms, which adds up. No option of vitest changes that.
import { vi } from "vitest";

const TIMEOUT_MS = 20_000;
/** As in `vitest.config.ts` for `expect.poll`. */
const INTERVAL_MS = 20;

type Options = number | { readonly timeout?: number; readonly interval?: number } | undefined;

/** Fake timers advance by one interval with each look, so they keep vitest's. */
const toOptions = (options: Options): Options => ({
  timeout: TIMEOUT_MS,
  ...(vi.isFakeTimers() ? {} : { interval: INTERVAL_MS }),
  ...(typeof options === "number" ? { timeout: options } : options),
});

/** Test files that share a process share `vi` too. */
const DONE = Symbol.for("calotype.test.waits-longer");

if (!Reflect.has(vi, DONE)) {
  const { waitFor, waitUntil } = vi;
  vi.waitFor = (callback, options) => waitFor(callback, toOptions(options));
  vi.waitUntil = (callback, options) => waitUntil(callback, toOptions(options));
  Reflect.set(vi, DONE, true);
}
