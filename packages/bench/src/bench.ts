// Measures the gateway and compares it with others: see docs/performance.md.
import { readFileSync, writeFileSync } from "node:fs";
import { type BenchOptions, readCommandLine, USAGE } from "./command-line.ts";
import { compareCheckouts } from "./compare-checkouts.ts";
import { findVerdict, judge } from "./goals.ts";
import { runMicroBenchmarks } from "./micro/run-micro-benchmarks.ts";
import { runProfile } from "./profile/run-profile.ts";
import { drawChart } from "./report/draw-chart.ts";
import { renderText } from "./report/render-tables.ts";
import { toTables } from "./report/tables.ts";
import { mergeResults, type Results } from "./results.ts";
import { runBench } from "./run-bench.ts";
import { pathOf } from "./stored-run.ts";
import { canReadCost } from "./system/process-cost.ts";
import { writeScripts } from "./system/scripts.ts";

const args = process.argv.slice(2);
const toJson = (results: Results): string => `${JSON.stringify(results, null, 2)}\n`;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

try {
  await run(readCommandLine(args));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  process.exitCode = 1;
}

async function run(options: BenchOptions): Promise<void> {
  if (options.isMicro) return await runMicroBenchmarks({ say });
  if (options.from === undefined && !canReadCost()) {
    return say("The cost of a process is read from /proc, which only Linux has; --micro runs everywhere.");
  }
  writeScripts(options.against);
  if (options.profile !== undefined) return await runProfile(options, options.profile, { say });
  const results = await obtain(options);
  say("");
  for (const table of toTables(results)) say(renderText(table));
  if (options.json !== undefined) writeFileSync(options.json, toJson(results));
  if (options.chart !== undefined) writeFileSync(options.chart, drawChart(results));
  if (options.isStored) writeFileSync(pathOf("gateway"), toJson(results));
  if (isWorse(results, options)) process.exitCode = 1;
}

/**
 * Whether a value was better before, or in the other checkout. A quick run does not warm up for long enough to be compared with
 * earlier runs.
 */
function isWorse(results: Results, { isQuick, from }: BenchOptions): boolean {
  if (compareCheckouts(results).some(({ isSlower }) => isSlower)) return true;
  return !isQuick && from === undefined && judge(results).some((goal) => findVerdict(goal) === "worse");
}

async function obtain(options: BenchOptions): Promise<Results> {
  if (options.from !== undefined) return readResults(options.from);
  return await runBench(options, commandOf(args), { say });
}

/** The command line without the options for output files, which are of no use to others. */
function commandOf(words: readonly string[]): string {
  const kept = words.filter(
    (word, index) => word !== "--store" && !isForFile(word) && !isForFile(words[index - 1]),
  );
  return `npm run bench${kept.length > 0 ? ` -- ${kept.join(" ")}` : ""}`;
}

function isForFile(word: string | undefined): boolean {
  return word === "--json" || word === "--chart";
}

/** Combines the results of several files. A later result replaces an earlier one of the same measurement. */
function readResults(list: string): Results {
  const [first, ...others] = list.split(",").map((file): Results => JSON.parse(readFileSync(file, "utf8")));
  if (first === undefined) throw new Error("--from needs a file.");
  return others.reduce(mergeResults, first);
}
