import { expect, it } from "vitest";
import { readImports } from "./support/read-imports.js";
import { findFiles, readText } from "./support/workspace.js";

/*
 * The figures of the code that may only shrink, and where they shall end. What a request costs is in `work-per-request`, the size
 * of bundles and the time of imports in `packages/runtimes/src/budgets.test.ts`; speed is checked by `npm run bench`.
 */

/** A figure of the code that may only shrink. */
interface Figure {
  /** What is counted. */
  readonly counts: string;
  /** The figure today. If the code has less, write that here. More fails. */
  readonly today: number;
  /** Where it shall end. */
  readonly goal: number;
  readonly count: () => number;
}

const CORE = "packages/core/src/";
const isTest = (path: string): boolean => /\.test\.tsx?$|\/testing\//.test(path);
const CORE_FILES = findFiles(`${CORE}**/*.ts`);
const SOURCES = CORE_FILES.filter((path) => !isTest(path));
const NAMES = SOURCES.map((path) => path.slice(CORE.length));

/** The code of a file without comments, so that only code is counted. */
const codeOf = (path: string): string => readText(path).replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, "");
const CODE = new Map(SOURCES.map((path) => [path, codeOf(path)]));

const countMatches = (pattern: RegExp, where: (name: string) => boolean = () => true): number =>
  NAMES.filter(where).reduce(
    (sum, name) => sum + [...(CODE.get(CORE + name) ?? "").matchAll(pattern)].length,
    0,
  );

/** In hundreds of lines, so that not every change has to write the figure. */
const hundredLinesOf = (paths: readonly string[]): number =>
  Math.ceil(paths.reduce((sum, path) => sum + readText(path).split("\n").length - 1, 0) / 100);

/**
 * What is, or will be, a feature that can be left out: it leaves this list when it has moved to `features/`. Everything else but
 * `families/` is the kernel.
 */
const FEATURES =
  /^features\/|^results\/|^tasks\/|^webhooks\/|^callers\/|^openapi(?:\/|\.ts|-)|^reference(?:\.ts|-)|^(?:cors|estimate|telemetry|observation|call-log|channel-control|continue-calls|models-endpoint|files-endpoint|tasks-endpoint|healthz-endpoint|operator)\.ts|^billing\/(?:memory-tasks|memory-webhooks|memory-callers|memory-history|task-store|caller-store|reprice|reports|usage-|gateway-usage|periods|budget|read-budgets|record-pages)|^admission\/pauses|^upstream\/probe-channel|^channels\/(?:status|paused)/;
/** What composes a gateway of all features, and the entry points. */
const DOORS =
  /^(?:index|gateway|assemble|configuration|stores|adapter|testing)\.ts$|^billing\/index\.ts$|^families\/index\.ts$/;

function countImportsOfFeatures(): number {
  let count = 0;
  for (const name of NAMES) {
    if (FEATURES.test(name) || DOORS.test(name) || name.startsWith("families/")) continue;
    for (const specifier of readImports(readText(CORE + name))) {
      if (!specifier.startsWith(".")) continue;
      const target = new URL(specifier, `file:///${name}`).pathname.slice(1).replace(/\.js$/, ".ts");
      if (FEATURES.test(target) || /^families\/(?:seedream|qwen-image|openai|gemini)\//.test(target)) count++;
    }
  }
  return count;
}

/** The names of types that are declared in more than one file. */
function countRepeatedTypes(): number {
  const files = new Map<string, number>();
  for (const code of CODE.values()) {
    const names = new Set(
      Array.from(
        code.matchAll(/^(?:export )?(?:interface|type|class|abstract class) (\w+)/gm),
        ([, name]) => name ?? "",
      ),
    );
    for (const name of names) files.set(name, (files.get(name) ?? 0) + 1);
  }
  return [...files.values()].filter((count) => count > 1).length;
}

const isNotHold = (name: string): boolean => name !== "billing/hold.ts" && name !== "billing/commit.ts";

const FIGURES: readonly Figure[] = [
  {
    counts: "imports from the kernel into features or into a family",
    today: 72,
    goal: 0,
    count: countImportsOfFeatures,
  },
  {
    counts: "places that open a hold or take one over",
    today: 3,
    goal: 3,
    count: () => countMatches(/\bholds\.(?:open|adopt|resume)\(/g),
  },
  {
    counts: "places that settle, release or abandon a hold, besides the commit",
    today: 0,
    goal: 0,
    count: () => countMatches(/\bhold\.(?:settle|release|abandon)\(/g, isNotHold),
  },
  {
    counts: "places that create a commit",
    today: 2,
    goal: 2,
    count: () => countMatches(/\bnew Commit\(/g),
  },
  {
    counts: "classes that iterate over bytes",
    today: 5,
    goal: 5,
    count: () =>
      countMatches(/class \w+(?:<[^>]*>)?[^{]*implements[^{]*Async(?:IterableIterator|Iterable|Iterator)</g),
  },
  {
    counts: "interfaces named …Parts",
    today: 54,
    goal: 12,
    count: () => countMatches(/\binterface \w*Parts\b/g),
  },
  { counts: "type names that are declared in several files", today: 34, goal: 0, count: countRepeatedTypes },
  {
    counts: "files at the root of core/src",
    today: 36,
    goal: 5,
    count: () => NAMES.filter((name) => !name.includes("/")).length,
  },
  {
    counts: "hundreds of lines of core without tests",
    today: 485,
    goal: 340,
    count: () => hundredLinesOf(SOURCES),
  },
  {
    counts: "hundreds of lines of tests in core and conformance",
    today: 954,
    goal: 700,
    count: () =>
      hundredLinesOf([...CORE_FILES.filter(isTest), ...findFiles("packages/conformance/src/**/*.ts")]),
  },
];

it.each(FIGURES)("$counts: at most $today, in the end $goal", ({ today, count }) => {
  // If it is smaller, write it into the table, so that it stays so. It must not be larger.
  expect(count()).toBe(today);
});
