/** Returns random numbers from 0 to below 1. */
export type Random = () => number;

/**
 * Random numbers that depend only on the seed and the name (mulberry32), so that sequences with different
 * names are independent.
 */
export function createRandom(seed: number, name: string): Random {
  let state = hashText(`${seed} ${name}`);
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** FNV-1a. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/** The time to the next of independent events with this rate. */
export function drawGapMs(random: Random, perSecond: number): number {
  return (-Math.log(1 - random()) * 1000) / perSecond;
}

/** A random duration with this median (log-normal): a few durations are several times as long. */
export function drawLatencyMs(random: Random, medianMs: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return medianMs * Math.exp(SPREAD * normal);
}

/** One of twenty takes more than twice the median. */
const SPREAD = 0.45;
