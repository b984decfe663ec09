/** Of the moments of death and the load; a failure names it, and the variable sets it again. */
export const SEED = Number(process.env["CRASH_SEED"] ?? 20_260_214);

/** Numbers from 0 to below 1, the same for each seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
