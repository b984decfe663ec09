/** Returns random numbers from 0 (inclusive) to 1 (exclusive). */
export type Random = () => number;

/** Reproducible random numbers (mulberry32): the same seed gives the same sequence. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A 32-bit hash (FNV-1a). Equal strings give equal images. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

export function randomHex(random: Random, length: number): string {
  return Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join("");
}

/** From 0 to 2147483647, the range of both providers' seeds. */
export function randomSeed(random: Random): number {
  return Math.floor(random() * 2 ** 31);
}
