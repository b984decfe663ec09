import { randomInt } from "node:crypto";

/** Whether this is `npm run test:full`: everything, also what takes minutes. */
export const isFull = (): boolean => process.env["TEST_FULL"] === "1";

/**
 * The seed of the random tests of this run. `npm test` has the same seed every time, because it must find the defects of a
 * change, and not those that were there before. `npm run test:full` draws a fresh seed. The environment variable
 * `TEST_SEED` repeats a run.
 */
export const SEED = Number(process.env["TEST_SEED"] ?? (isFull() ? randomInt(2 ** 31) : 20_261_121));
