// Vitest loads this file before each test file. `vi.waitFor` and `vi.waitUntil` give up after one second, which a busy machine
// exceeds, and no option of vitest changes that.
import { vi } from "vitest";

const TIMEOUT_MS = 20_000;

type Options = number | { readonly timeout?: number; readonly interval?: number } | undefined;

const toOptions = (options: Options): Options =>
  typeof options === "number" ? options : { timeout: TIMEOUT_MS, ...options };

/** Test files that share a process share `vi` too. */
const DONE = Symbol.for("calotype.test.waits-longer");

if (!Reflect.has(vi, DONE)) {
  const { waitFor, waitUntil } = vi;
  vi.waitFor = (callback, options) => waitFor(callback, toOptions(options));
  vi.waitUntil = (callback, options) => waitUntil(callback, toOptions(options));
  Reflect.set(vi, DONE, true);
}
