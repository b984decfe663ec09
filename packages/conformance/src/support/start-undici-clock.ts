// Vitest loads this file before each test file. undici has one timer for all its timeouts, starts it with the first of them
// and never replaces it. If that happens while a test has `vi.useFakeTimers()`, no timeout of undici ends in this process any
// more, also not in later files. So it starts here, before any test.
import { createRequire } from "node:module";

interface UndiciTimers {
  setFastTimeout(callback: () => void, delayMs: number): unknown;
  clearFastTimeout(timeout: unknown): void;
}

const { resolve } = createRequire(new URL("../../../core/package.json", import.meta.url));
const timers: UndiciTimers = createRequire(import.meta.url)(resolve("undici/lib/util/timers.js"));
timers.clearFastTimeout(timers.setFastTimeout(() => undefined, 2_000));
