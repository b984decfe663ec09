import { stripVTControlCharacters } from "node:util";

/** Every key of the tests holds this, so that it is found wherever it comes to light. */
const CANARY = /canary-[\da-f]{8}/gi;

/** Longer than a key and the colours in it. */
const KEPT = 400;

/** Looks for the keys of the tests in a text that comes in pieces. */
export interface CanaryFinder {
  /** The next piece. */
  add(text: string): void;
  /** The keys so far, each once. */
  found(): readonly string[];
}

export function createCanaryFinder(): CanaryFinder {
  const keys = new Set<string>();
  let kept = "";
  return {
    add(text) {
      const seen = kept + text;
      // Where a difference is shown, colours may stand in the middle of a key.
      for (const [key] of stripVTControlCharacters(seen).matchAll(CANARY)) keys.add(key.toLowerCase());
      kept = seen.slice(-KEPT);
    },
    found: () => [...keys].toSorted(),
  };
}
