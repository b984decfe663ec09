import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PARTS } from "./parts.ts";
import { type PartResult, sumFigures } from "./run-all.ts";

/** One line of `runs.jsonl`: a recorded run. */
interface RecordedRun {
  /** The day, in ISO 8601. */
  readonly date: string;
  readonly seed: number;
  readonly minutes: number;
  readonly processes: number;
  /** The figures of each part. */
  readonly parts: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** The number of findings. */
  readonly findings: number;
}

/** All recorded runs, one per line. The file is committed. */
const RUNS = join(import.meta.dirname, "../runs.jsonl");

/** Adds a run to `runs.jsonl`. */
export function appendRun(run: {
  readonly seed: number;
  readonly minutes: number;
  readonly processes: number;
  readonly results: readonly PartResult[];
}): void {
  const { results, ...rest } = run;
  const line: RecordedRun = {
    date: new Date().toISOString().slice(0, 10),
    ...rest,
    parts: Object.fromEntries(results.map(({ part, figures }) => [part, figures])),
    findings: results.reduce((sum, { findings }) => sum + findings.length, 0),
  };
  appendFileSync(RUNS, `${JSON.stringify(line)}\n`);
}

/** The generated section of docs/hardening.md: each part with its guarantees and the sums of its figures. */
export function renderParts(): string {
  const runs = readRuns();
  const minutes = runs.reduce((sum, run) => sum + run.minutes, 0);
  const findings = runs.reduce((sum, run) => sum + run.findings, 0);
  const inputs = runs
    .flatMap(({ parts }) => Object.values(parts))
    .reduce((sum, figures) => sum + (figures["inputs"] ?? 0), 0);
  const sections = PARTS.map(({ name, guarantees }) => {
    const figures = sumFigures(runs.map(({ parts }) => parts[name] ?? {}));
    return `### \`${name}\`\n\n${guarantees}\n\n${renderFigures(figures)}\n`;
  });
  const last = runs.at(-1)?.date ?? "none yet";
  const summary = [
    "| Recorded runs | Minutes | Inputs | Findings | Last run |",
    "| --- | --- | --- | --- | --- |",
    `| ${runs.length} | ${minutes} | ${inputs.toLocaleString("en")} | ${findings} | ${last} |`,
  ];
  return `${summary.join("\n")}\n\n${sections.join("\n")}`;
}

function renderFigures(figures: Readonly<Record<string, number>>): string {
  const shown = Object.entries(figures).map(([figure, value]) => `${value.toLocaleString("en")} ${figure}`);
  return `So far: ${shown.length === 0 ? "no recorded run" : shown.join(", ")}.`;
}

function readRuns(): readonly RecordedRun[] {
  if (!existsSync(RUNS)) return [];
  const lines = readFileSync(RUNS, "utf8")
    .split("\n")
    .filter((line) => line !== "");
  return lines.map((line): RecordedRun => JSON.parse(line));
}
