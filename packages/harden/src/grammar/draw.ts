import type { Random } from "@calotype/conformance/fleet-simulation/create-random";

export type { Random } from "@calotype/conformance/fleet-simulation/create-random";

/** A whole number from `min` to `max`, both included. */
export function drawInt(random: Random, min: number, max: number): number {
  return min + Math.floor(random() * (max - min + 1));
}

/** One element of a list that is not empty. */
export function pick<T>(random: Random, list: readonly T[]): T {
  const element = list[Math.floor(random() * list.length)];
  if (element === undefined) throw new RangeError("The list is empty or has an undefined element.");
  return element;
}

/** True with this probability. */
export function chance(random: Random, probability: number): boolean {
  return random() < probability;
}

/** A size that is mostly small and rarely large. Half of the results are below `median`. */
export function drawSize(random: Random, median: number, max: number): number {
  return Math.min(max, Math.floor(-Math.log2(1 - random()) * median));
}
