import type { Random } from "../random.js";

/** A number, or one drawn from `min` to `max` (both inclusive) by the emulator's seed. */
export type Amount = number | { min: number; max: number };

/** A whole number drawn from the range; of a plain number, the number itself. */
export function drawAmount(amount: Amount, random: Random): number {
  if (typeof amount === "number") return amount;
  const { min, max } = amount;
  return min + Math.floor(random() * (max - min + 1));
}
