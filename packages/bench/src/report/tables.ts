import { type CheckoutComparison, compareCheckouts } from "../compare-checkouts.ts";
import { findVerdict, type Goal, judge } from "../goals.ts";
import type { WorkSamples } from "../measure-work.ts";
import { medianFor, type Results, ratioFor, type ScenarioSide } from "../results.ts";
import { medianOf } from "../statistics.ts";
import { OTHER_KIND, REFERENCE, TARGET_KINDS } from "../target.ts";
import { WORKS } from "../works.ts";
import { formatCount, formatMegabytes, formatMs, formatRatio } from "./format.ts";

/** A table with its title. The first row has the names of the columns. */
export interface Table {
  readonly title: string;
  readonly rows: readonly (readonly string[])[];
  /** Sentences below the table. */
  readonly notes: readonly string[];
}

const WORK_COLUMNS = [
  "",
  "CPU ms",
  "× minimal",
  "req/s",
  "p50 ms",
  "p99 ms",
  "first byte ms",
  "peak MB",
  "× minimal",
];

/** Creates the tables of all results and goals. */
export function toTables(results: Results): Table[] {
  const tables = [
    ...results.works.map(toWorkTable),
    toScenarioTable(results),
    toGoalTable(judge(results)),
    toCheckoutTable(compareCheckouts(results)),
  ];
  return tables.filter(({ rows }) => rows.length > 1);
}

function toWorkTable(work: WorkSamples): Table {
  const rows = work.results.map(({ target }) => [
    titleOfTarget(target),
    formatMs(medianFor(work, target, "cpuMs")),
    formatRatio(ratioFor(work, [target, REFERENCE], "cpuMs")),
    formatCount(medianFor(work, target, "requestsPerSecond")),
    formatMs(medianFor(work, target, "p50")),
    formatMs(medianFor(work, target, "p99")),
    formatMs(medianFor(work, target, "firstByte")),
    formatMegabytes(medianFor(work, target, "peakBytes")),
    formatRatio(ratioFor(work, [target, REFERENCE], "peakBytes")),
  ]);
  return {
    title: WORKS.find(({ id }) => id === work.work)?.title ?? work.work,
    rows: [WORK_COLUMNS, ...rows],
    notes: work.failures.map(
      ({ target, problem }) => `${titleOfTarget(target)} failed: ${problem.split("\n")[1] ?? problem}`,
    ),
  };
}

function toScenarioTable({ scenarios }: Results): Table {
  const rows = scenarios.flatMap(({ title, base, other }) => [
    [title, base.title, formatSide(base)],
    ["", other.title, formatSide(other)],
  ]);
  return { title: "Many of everything", rows: [["", "with", "median"], ...rows], notes: [] };
}

function formatSide({ values, unit }: ScenarioSide): string {
  const median = medianOf(values);
  return unit === "MB" ? `${formatMegabytes(median)} MB` : `${formatMs(median)} ms`;
}

function toGoalTable(goals: readonly Goal[]): Table {
  const rows = goals.map((goal) => [
    goal.title,
    formatRatio(goal.value),
    goal.reached === undefined ? "" : formatRatio(goal.reached),
    `${goal.bound} ${goal.goal} ×`,
    findVerdict(goal),
  ]);
  return { title: "Goals", rows: [["", "now", "reached", "goal", ""], ...rows], notes: [] };
}

function toCheckoutTable(compared: readonly CheckoutComparison[]): Table {
  const rows = compared.map(({ title, ours, other, ratio, isSlower }) => [
    title,
    formatRatio(ours),
    formatRatio(other),
    formatRatio(ratio),
    isSlower ? "slower" : "",
  ]);
  const columns = ["", "ours over minimal", "other over minimal", "ours over other", ""];
  return { title: "CPU of this checkout and of the other one", rows: [columns, ...rows], notes: [] };
}

export function titleOfTarget(id: string): string {
  return [...TARGET_KINDS, OTHER_KIND].find((kind) => kind.id === id)?.title ?? id;
}
