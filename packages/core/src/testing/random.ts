/** The seed of the random tests of this run: `vitest.config.ts` sets it. */
export const SEED = Number(process.env["TEST_SEED"]);

/** How many random cases of a long property to try: these in `npm run test:full`, and a fifth in `npm test`. */
export const casesOf = (cases: number): number => (process.env["TEST_FULL"] === "1" ? cases : cases / 5);

/** Returns random numbers from 0 to below 1. */
export type Random = () => number;

/** Random numbers that depend only on the seed (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
