import type { TargetSamples, WorkSamples } from "./measure-work.ts";
import { medianOf, medianRatioOf } from "./statistics.ts";
import { WORKS } from "./works.ts";

/** The results of a run, as they are stored in a file. */
export interface Results {
  /** ISO 8601. */
  readonly date: string;
  readonly command: string;
  readonly node: string;
  readonly cores: number;
  readonly isPinned: boolean;
  readonly rounds: number;
  readonly works: readonly WorkSamples[];
  readonly scenarios: readonly ScenarioResult[];
  /** Targets that did not take part, and why. */
  readonly skipped: readonly { readonly target: string; readonly why: string }[];
}

/** A comparison of two ways to use a target. */
export interface ScenarioResult {
  readonly id: string;
  readonly title: string;
  /** The two sides, such as `1,000 connections` and `32`. */
  readonly base: ScenarioSide;
  readonly other: ScenarioSide;
}

/** One side of a comparison, with a value for each round. */
export interface ScenarioSide {
  readonly title: string;
  readonly values: readonly number[];
  readonly unit: "ms" | "MB";
}

type Measure = "cpuMs" | "peakBytes" | "requestsPerSecond" | "p50" | "p99" | "firstByte";

/** The median of the rounds; NaN if the target was not measured. */
export function medianFor(work: WorkSamples | undefined, target: string, measure: Measure): number {
  return medianOf(valuesOf(work, target, measure));
}

/** The ratio of two targets, as the median of the rounds; NaN if one of them was not measured. */
export function ratioFor(
  work: WorkSamples | undefined,
  [target, other]: readonly [string, string],
  measure: Measure,
): number {
  return medianRatioOf(valuesOf(work, target, measure), valuesOf(work, other, measure));
}

/** The values of each round. */
function valuesOf(work: WorkSamples | undefined, target: string, measure: Measure): number[] {
  const found = work?.results.find((result: TargetSamples) => result.target === target);
  return found?.samples.map((sample) => sample[measure]) ?? [];
}

/** The command that measures everything. */
const WHOLE_RUN = "npm run bench";

/** Combines two runs. If both have a measurement, the later one counts. */
export function mergeResults(earlier: Results, later: Results): Results {
  const works = earlier.works.filter(({ work }) => later.works.every((other) => other.work !== work));
  const scenarios = earlier.scenarios.filter(({ id }) => later.scenarios.every((other) => other.id !== id));
  const skipped = earlier.skipped.filter(({ target }) =>
    later.skipped.every((other) => other.target !== target),
  );
  return {
    ...later,
    command: earlier.command === later.command ? later.command : WHOLE_RUN,
    rounds: Math.min(earlier.rounds, later.rounds),
    works: [...works, ...later.works].toSorted((a, b) => placeOf(a) - placeOf(b)),
    scenarios: [...scenarios, ...later.scenarios],
    skipped: [...skipped, ...later.skipped],
  };
}

function placeOf({ work }: WorkSamples): number {
  return WORKS.findIndex(({ id }) => id === work);
}
