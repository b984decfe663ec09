import { globSync } from "node:fs";
import { join } from "node:path";
import { ROOT, readText } from "@calotype/conformance/support/workspace";
import { expect, it } from "vitest";
import { drawChart } from "./draw-chart.ts";
import { readFigures } from "./figures.ts";
import { readGatewayRun } from "./gateway-figures.ts";

const FIGURES = readFigures();
const PAGES = globSync(["docs/**/*.md", "packages/*/README.md"], { cwd: ROOT }).filter((path) =>
  readText(path).includes("<!-- figures: "),
);
/** A place for a figure: `<!-- figures: NAME -->…<!-- end of figures -->`, in a line of its own or within a sentence. */
const PLACE = /<!-- figures: ([\w-]+) -->[^]*?<!-- end of figures -->/g;

const namesIn = (path: string): (string | undefined)[] =>
  [...readText(path).matchAll(PLACE)].map(([, name]) => name);

it.each(PAGES)("%s shows the figures of the stored runs", async (path) => {
  expect(Object.keys(FIGURES)).toEqual(expect.arrayContaining(namesIn(path)));
  const text = readText(path).replaceAll(PLACE, (_place, name: string) => {
    const figure = FIGURES[name] ?? "";
    const shown = figure.includes("\n") ? `\n\n${figure.trimEnd()}\n\n` : figure;
    return `<!-- figures: ${name} -->${shown}<!-- end of figures -->`;
  });
  await expect(text).toMatchFileSnapshot(join(ROOT, path));
});

it("docs/performance.svg shows the CPU time of the stored run", async () => {
  await expect(drawChart(readGatewayRun())).toMatchFileSnapshot(join(ROOT, "docs/performance.svg"));
});

it("every figure is shown somewhere", () => {
  expect(new Set(PAGES.flatMap(namesIn))).toEqual(new Set(Object.keys(FIGURES)));
});

/** Amounts of time and of data, and rates. */
const AMOUNT =
  /[\d.,]*\d (?:µs|ms|s|seconds|minutes|hours|bytes|[kMGT]i?B|KB|Gbit\/s|times|×|requests per second|per second)(?!\w)/g;

/** What was not measured: loads that a page is about, what an option or the code sets, what a provider allows, and examples. */
const NOT_MEASURED: Readonly<Record<string, readonly string[]>> = {
  "docs/sizing.md": [
    "1,000 requests per second",
    "10,000 requests per second",
    "100,000 requests per second",
    "20 requests per second",
    "8 per second",
    "15 seconds",
    "10 Gbit/s",
    "4 MB",
    "4 ms",
  ],
  "docs/choosing-stores.md": [],
  "docs/performance.md": ["20 seconds"],
  "docs/postgres.md": ["30 seconds", "10 seconds", "50 ms", "20 ms", "512 bytes"],
};

/** A table that other tests write from their own stored results. */
const OTHER_RESULTS = /<!-- Written by the tests [^]*?<!-- End of what the tests write -->/g;

it.each(Object.entries(NOT_MEASURED))("%s has no measured figure of its own", (path, known) => {
  const own = readText(path).replaceAll(PLACE, "").replaceAll(OTHER_RESULTS, "");
  const found = [...own.matchAll(AMOUNT)].map(([amount]) => amount);
  expect(new Set(found)).toEqual(new Set(known));
});
