import { stripVTControlCharacters } from "node:util";

/** Every key of the tests contains this string, so that a leaked key is found. */
const CANARY = /canary-[\da-f]{8}/gi;

/** Longer than a key with colour codes. */
const KEPT = 400;

/** Searches for the keys of the tests in a text that arrives in pieces. */
export interface CanaryFinder {
  /** The next piece. */
  add(text: string): void;
  /** The keys that were found, each once. */
  found(): readonly string[];
}

export function createCanaryFinder(): CanaryFinder {
  const keys = new Set<string>();
  let kept = "";
  return {
    add(text) {
      const seen = kept + text;
      // In a printed difference, colour codes may be in the middle of a key.
      for (const [key] of stripVTControlCharacters(seen).matchAll(CANARY)) keys.add(key.toLowerCase());
      kept = seen.slice(-KEPT);
    },
    found: () => [...keys].toSorted(),
  };
}
