import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Results } from "../results.ts";
import { drawChart } from "./draw-chart.ts";
import { renderMarkdown } from "./render-tables.ts";
import { toTables } from "./tables.ts";

const inRoot = (path: string): string => fileURLToPath(new URL(`../../../../${path}`, import.meta.url));

const PAGE = inRoot("docs/performance.md");
const CHART = inRoot("docs/performance.svg");
const RESULTS = inRoot("packages/bench/results/latest.json");
const BEGIN = "<!-- results: written by npm run bench -- --docs -->";
const END = "<!-- end of results -->";

/** Writes the results to the folder `results`, and the tables and chart into the page on performance. */
export function writeDocs(results: Results): void {
  writeFileSync(RESULTS, toJson(results));
  writeFileSync(CHART, drawChart(results));
  const page = readFileSync(PAGE, "utf8");
  const [before, rest] = page.split(BEGIN);
  const [, after] = rest?.split(END) ?? [];
  if (before === undefined || after === undefined)
    throw new Error(`${PAGE} does not have the comments that mark its results.`);
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${renderResults(results)}\n${END}${after}`);
}

export function toJson(results: Results): string {
  return `${JSON.stringify(results, null, 2)}\n`;
}

function renderResults(results: Results): string {
  const { date, command, node, cores, isPinned, rounds, skipped } = results;
  const machine = `${cores} cores${isPinned ? ", the gateway alone on one of them" : ", not pinned"}`;
  return [
    `Measured on ${date.slice(0, 10)} with \`${command}\`: Node ${node}, ${machine}, medians of ${rounds} rounds.`,
    "",
    ...skipped.map(({ target, why }) => `Without ${target}: ${why}.\n`),
    ...toTables(results).map(renderMarkdown),
  ].join("\n");
}
