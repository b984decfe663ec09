import type { WorkSamples } from "./measure-work.ts";
import { type Results, ratioFor, type ScenarioResult } from "./results.ts";
import { medianOf, medianRatioOf } from "./statistics.ts";
import { OURS, REFERENCE } from "./target.ts";
import { WORKS, type WorkId } from "./works.ts";

/** What a value must be, and what it already was. */
interface Limit {
  readonly goal: number;
  /** The best value so far, if the goal is not reached yet. */
  readonly reached?: number;
}

/** A goal and the current value. */
export interface Goal extends Limit {
  readonly title: string;
  readonly value: number;
  readonly bound: "at most" | "at least";
}

/** How a value compares with its goal. `worse`: it was better before, by more than the {@link TOLERANCE}. */
export type Verdict = "met" | "not met" | "worse";

/** Two runs of the same code differ by less. */
export const TOLERANCE = 1.05;

/**
 * CPU over the minimal gateway's. The minimal gateway converts forms while they arrive. Values of November 2026. When a value
 * becomes better, write it here.
 */
const CPU: Readonly<Record<WorkId, Limit>> = {
  small: { goal: 1.45, reached: 3.6 },
  "b64-4mb": { goal: 0.72, reached: 0.87 },
  "b64-32mb": { goal: 0.75, reached: 0.8 },
  "sse-small": { goal: 1.3 },
  "sse-paced": { goal: 1.2, reached: 1.66 },
  "sse-large": { goal: 0.75, reached: 0.87 },
  edits: { goal: 0.8, reached: 1.43 },
  "json-images": { goal: 1 },
};

/** Memory over the minimal gateway's. Small JSON has no goal: its memory is that of the process. */
const MEMORY: Readonly<Partial<Record<WorkId, Limit>>> = {
  "b64-4mb": { goal: 1.15 },
  "b64-32mb": { goal: 1.15 },
  "sse-small": { goal: 1.15 },
  "sse-paced": { goal: 1.15 },
  "sse-large": { goal: 1.15 },
  edits: { goal: 0.9, reached: 1.1 },
  "json-images": { goal: 1 },
};

/** Portkey's CPU over ours, at least. */
const PORTKEY: Readonly<Partial<Record<WorkId, Limit>>> = {
  small: { goal: 7, reached: 2.7 },
  "b64-4mb": { goal: 12 },
  "b64-32mb": { goal: 12 },
};

const SCENARIOS: Readonly<Record<string, Limit>> = {
  streams: { goal: 1, reached: 1.2 },
  express: { goal: 1.2 },
};
const OTHER_SCENARIO: Limit = { goal: 1.3 };

/** Returns every goal for which there are results. */
export function judge(results: Results): Goal[] {
  const goals = [
    ...WORKS.flatMap(({ id, title }) => judgeWork(title, id, results.works)),
    ...results.scenarios.map(judgeScenario),
  ];
  return goals.filter(({ value }) => !Number.isNaN(value));
}

/** Compares a value with its goal, and with what was reached. */
export function findVerdict({ value, goal, reached = goal, bound }: Goal): Verdict {
  const isWithin = (limit: number): boolean => (bound === "at most" ? value <= limit : value >= limit);
  if (isWithin(goal)) return "met";
  return isWithin(bound === "at most" ? reached * TOLERANCE : reached / TOLERANCE) ? "not met" : "worse";
}

function judgeWork(title: string, id: WorkId, works: readonly WorkSamples[]): Goal[] {
  const work = works.find((samples) => samples.work === id);
  const { [id]: memory } = MEMORY;
  const { [id]: portkey } = PORTKEY;
  const cpu = ratioFor(work, [OURS, REFERENCE], "cpuMs");
  const peak = ratioFor(work, [OURS, REFERENCE], "peakBytes");
  const other = ratioFor(work, ["portkey", OURS], "cpuMs");
  return [
    { title: `${title}: CPU over the minimal gateway's`, value: cpu, bound: "at most", ...CPU[id] },
    ...(memory === undefined
      ? []
      : [
          {
            title: `${title}: memory over the minimal gateway's`,
            value: peak,
            bound: "at most",
            ...memory,
          } as const,
        ]),
    ...(portkey === undefined
      ? []
      : [
          {
            title: `${title}: Portkey's CPU over ours`,
            value: other,
            bound: "at least",
            ...portkey,
          } as const,
        ]),
  ];
}

function judgeScenario({ id, title, base, other }: ScenarioResult): Goal {
  // Only the medians of differences are compared, because in one round noise may change their sign.
  const value =
    id === "express"
      ? medianOf(other.values) / medianOf(base.values)
      : medianRatioOf(other.values, base.values);
  return { title, value, bound: "at most", ...(SCENARIOS[id] ?? OTHER_SCENARIO) };
}
