/** The seed of the kills and of the load. A failure prints the seed, and the environment variable sets it. */
export const SEED = Number(process.env["CRASH_SEED"] ?? 20_260_214);

/** Random numbers from 0 to below 1 with this seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
