import type { WorkSamples } from "./measure-work.ts";
import { UPLOAD_MEMORY_BYTES } from "./payloads.ts";
import { type Results, ratioFor, type ScenarioResult, valuesOf } from "./results.ts";
import { medianOf, medianRatioOf } from "./statistics.ts";
import { REFERENCE } from "./target.ts";
import { WORKS, type WorkId } from "./works.ts";

/** A goal and the current value. */
export interface Goal {
  readonly title: string;
  readonly value: number;
  readonly limit: number;
  readonly bound: "at most" | "at least";
}

const OURS = "calotype-node";
const LARGE_WORKS: readonly WorkId[] = ["b64-4mb", "b64-32mb", "sse-small", "sse-large"];
const BASE64_WORKS: readonly WorkId[] = ["b64-4mb", "b64-32mb"];

/** Returns every goal for which there are results. */
export function judge(results: Results): Goal[] {
  const find = (id: WorkId): WorkSamples | undefined => results.works.find(({ work }) => work === id);
  const goals: Goal[] = [
    atMost(1.5, "small JSON: CPU over the minimal gateway's", cpuRatio(find("small"))),
    ...LARGE_WORKS.flatMap((id) => [
      atMost(1.3, `${titleOf(id)}: CPU over the minimal gateway's`, cpuRatio(find(id))),
      atMost(
        1.15,
        `${titleOf(id)}: memory over the minimal gateway's`,
        ratioFor(find(id), [OURS, REFERENCE], "peakBytes"),
      ),
    ]),
    atMost(1.6, "multipart edit: CPU over the streamed conversion's", cpuRatio(find("edits"))),
    atMost(1.3, "multipart edit: memory over what uploads may keep", uploadRatio(find("edits"))),
    atMost(1, "JSON with data URLs: CPU over the minimal gateway's", cpuRatio(find("json-images"))),
    atMost(
      1,
      "JSON with data URLs: memory over the minimal gateway's",
      ratioFor(find("json-images"), [OURS, REFERENCE], "peakBytes"),
    ),
    atLeast(7, "small JSON: Portkey's CPU over ours", ratioFor(find("small"), ["portkey", OURS], "cpuMs")),
    ...BASE64_WORKS.map((id) =>
      atLeast(12, `${titleOf(id)}: Portkey's CPU over ours`, ratioFor(find(id), ["portkey", OURS], "cpuMs")),
    ),
    ...results.scenarios.map((scenario) => atMost(...judgeScenario(scenario))),
  ];
  return goals.filter(({ value }) => !Number.isNaN(value));
}

export function isMet({ value, limit, bound }: Goal): boolean {
  return bound === "at most" ? value <= limit : value >= limit;
}

function atMost(limit: number, title: string, value: number): Goal {
  return { title, value, limit, bound: "at most" };
}

function atLeast(limit: number, title: string, value: number): Goal {
  return { title, value, limit, bound: "at least" };
}

function cpuRatio(work: WorkSamples | undefined): number {
  return ratioFor(work, [OURS, REFERENCE], "cpuMs");
}

/** The peak of the whole process, divided by the option `uploadMemoryBytes`. */
function uploadRatio(work: WorkSamples | undefined): number {
  return medianOf(valuesOf(work, OURS, "peakBytes")) / UPLOAD_MEMORY_BYTES;
}

const SCENARIO_LIMITS: Readonly<Record<string, number>> = { streams: 1.15, express: 1.2 };
const USUAL_LIMIT = 1.3;

function judgeScenario({ id, title, base, other }: ScenarioResult): [number, string, number] {
  // Only the medians of differences are compared, because in one round noise may change their sign.
  const value =
    id === "express"
      ? medianOf(other.values) / medianOf(base.values)
      : medianRatioOf(other.values, base.values);
  return [SCENARIO_LIMITS[id] ?? USUAL_LIMIT, title, value];
}

function titleOf(id: WorkId): string {
  return WORKS.find((work) => work.id === id)?.title ?? id;
}
