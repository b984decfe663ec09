// `npm run harden`: runs the parts and prints their findings. See packages/harden/README.md.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { relative } from "node:path";
import { parseArgs } from "node:util";
import { appendRun } from "./figures.ts";
import type { FindingFile } from "./part.ts";
import { findPart, PARTS } from "./parts.ts";
import { type PartResult, runAll } from "./run-all.ts";
import { replayFinding } from "./run-part.ts";

/** Runs of at least this length are recorded, unless `--no-record` is given. */
const RECORDED_MINUTES = 5;

const { values: options } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    parts: { type: "string" },
    seed: { type: "string" },
    processes: { type: "string", default: String(availableParallelism()) },
    replay: { type: "string" },
    record: { type: "boolean" },
  },
  allowNegative: true,
});

process.exitCode = options.replay === undefined ? await run() : await replay(options.replay);

async function run(): Promise<number> {
  const minutes = toNumber("minutes", options.minutes);
  const seed = options.seed === undefined ? drawSeed() : toNumber("seed", options.seed);
  const parts = options.parts?.split(",").map(findPart) ?? PARTS;
  print(`Seed ${seed}, ${minutes} min: ${parts.map(({ name }) => name).join(", ")}`);
  const processes = toNumber("processes", options.processes);
  const start = Date.now();
  const results = await runAll({ parts, seed, seconds: minutes * 60, processes });
  // A part with a fixed set of cases may end early.
  const passed = Math.ceil((Date.now() - start) / 60_000);
  for (const result of results) printResult(result);
  if (options.record ?? minutes >= RECORDED_MINUTES)
    appendRun({ seed, minutes: Math.min(minutes, passed), processes, results });
  return results.some(({ findings }) => findings.length > 0) ? 1 : 0;
}

async function replay(path: string): Promise<number> {
  const file: FindingFile = JSON.parse(readFileSync(path, "utf8"));
  const findings = await replayFinding(findPart(file.part), file);
  for (const { rule, seen } of findings) print(`Broken: ${rule}\n${seen ?? ""}`);
  if (findings.length === 0) print("The input breaks no rule any more.");
  return findings.length > 0 ? 1 : 0;
}

function printResult({ part, figures, findings }: PartResult): void {
  const shown = Object.entries(figures).map(([figure, value]) => `${value.toLocaleString("en")} ${figure}`);
  print(`${part}: ${shown.join(", ")}; ${findings.length} findings`);
  for (const path of findings) {
    const { rule, seen }: FindingFile = JSON.parse(readFileSync(path, "utf8"));
    print(
      `  ${rule}\n    npm run harden -- --replay ${relative(process.cwd(), path)}\n    ${(seen ?? "").slice(0, 300)}`,
    );
  }
}

function drawSeed(): number {
  return Math.floor(Math.random() * 2 ** 31);
}

function toNumber(name: string, text: string): number {
  const value = Number(text);
  if (text !== "" && value >= 0) return value;
  throw new RangeError(`--${name} must be a number of at least 0, not ${text}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
