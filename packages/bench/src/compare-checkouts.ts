import { TOLERANCE } from "./goals.ts";
import { type Results, ratioFor } from "./results.ts";
import { OTHER_KIND, OURS, REFERENCE } from "./target.ts";
import { WORKS } from "./works.ts";

/** The CPU time of one work in this checkout and in the other one. */
export interface CheckoutComparison {
  readonly title: string;
  /** Over the minimal gateway's. */
  readonly ours: number;
  readonly other: number;
  /** Ours over the other's. */
  readonly ratio: number;
  /** Whether ours is slower by more than the tolerance. */
  readonly isSlower: boolean;
}

/** Compares the two checkouts of `--against`. Empty without it. */
export function compareCheckouts({ works }: Results): CheckoutComparison[] {
  const compared = WORKS.map(({ id, title }) => {
    const work = works.find((samples) => samples.work === id);
    const ratio = ratioFor(work, [OURS, OTHER_KIND.id], "cpuMs");
    return {
      title,
      ours: ratioFor(work, [OURS, REFERENCE], "cpuMs"),
      other: ratioFor(work, [OTHER_KIND.id, REFERENCE], "cpuMs"),
      ratio,
      isSlower: ratio > TOLERANCE,
    };
  });
  return compared.filter(({ ratio }) => !Number.isNaN(ratio));
}
