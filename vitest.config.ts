import { hash } from "node:crypto";
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, dirname, join } from "node:path";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { isFull, SEED } from "./packages/conformance/src/support/test-run.ts";

/**
 * Test files with a process of their own: they change it for good, or measure its memory. All others share processes with the
 * files of their project.
 */
const ALONE = [
  "packages/conformance/src/hosts/next.test.ts",
  "packages/conformance/src/large-responses-of-disconnected-clients.test.ts",
  "packages/opentelemetry/src/**/*.test.ts",
  "packages/redis/src/renew-leases.test.ts",
];

/** Minutes of work on a busy machine: only in `npm run test:full`. */
const FULL_ONLY = [
  "**/bad-days/bad-days.test.ts",
  "**/fleet-simulation/fleet-simulation.test.ts",
  "**/openai-streams/memory.test.ts",
  "**/results/memory.test.ts",
  "**/conformance/src/fleet/cells.test.ts",
  "**/fleet/task-kills.test.ts",
  "**/histories/random-rounds.test.ts",
  "**/ledgers/pgbouncer.test.ts",
  "**/ledgers/postgres-pools.test.ts",
  "**/admission-stores/redis-by-node-redis.test.ts",
  "**/release/price-tests-npm.test.ts",
  "**/suites/full/**",
  "**/whole-site.test.ts",
  // All tests of `npm test` run on Node 24.
  "packages/runtimes/src/node-24.test.ts",
];

/** Tests of the apps that `create-calotype` writes: they run on `node:test`. */
const TEMPLATES = ["**/create-calotype/templates/**", "**/create-calotype/.generated/**"];

const WAIT_LONGER = join(import.meta.dirname, "packages/conformance/src/support/wait-longer.ts");
const START_UNDICI_CLOCK = join(
  import.meta.dirname,
  "packages/conformance/src/support/start-undici-clock.ts",
);
const SEED_FAST_CHECK = join(import.meta.dirname, "packages/core/src/testing/seed-fast-check.ts");

/**
 * Runs the files of a project one after another, because vitest keeps a process only for files of the same project. Core is
 * last: its files are short, so no long file ends alone. The full run has a random order in each project: a file that leaves
 * something behind then fails another one sooner or later.
 */
class ByProject extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- vitest's, and not of an array
    const sorted = isFull() ? shuffle(files) : await super.sort(files);
    const names = sorted.map(({ project }) => project.name).filter((name) => name !== LAST);
    const order = [...new Set(names), LAST];
    return sorted.toSorted((a, b) => order.indexOf(a.project.name) - order.indexOf(b.project.name));
  }
}

const CORE = "packages/core";
const LAST = basename(CORE);

/** The order depends on the seed only, so that `TEST_SEED` repeats it. */
function shuffle(files: readonly TestSpecification[]): TestSpecification[] {
  const places = new Map(files.map((file) => [file, hash("sha1", `${SEED} ${file.moduleId}`)]));
  const placeOf = (file: TestSpecification): string => places.get(file) ?? "";
  return files.toSorted((one, other) => placeOf(one).localeCompare(placeOf(other)));
}

const PACKAGES = globSync("{packages,examples}/*/package.json", { cwd: import.meta.dirname })
  .map((path) => dirname(path))
  .toSorted();
/** Packages with many files. All others share processes, because to start them takes longer than most of their tests. */
const LARGE = ["packages/conformance", CORE];

const EXCLUDE = [...configDefaults.exclude, ...TEMPLATES, ...(isFull() ? [] : FULL_ONLY)];
const SETUP = [WAIT_LONGER, START_UNDICI_CLOCK];

/** Files that share processes. */
function toShared(name: string, folders: readonly string[]) {
  const include = folders.flatMap((folder) =>
    configDefaults.include.map((pattern) => `${folder}/${pattern}`),
  );
  const setupFiles = [...SETUP, ...(folders.includes(CORE) ? [SEED_FAST_CHECK] : [])];
  return {
    test: { name, isolate: false, include, exclude: [...EXCLUDE, ...ALONE], setupFiles },
  };
}

export default defineConfig({
  test: {
    projects: [
      { test: { name: "alone", include: ALONE, exclude: EXCLUDE, setupFiles: SETUP } },
      ...LARGE.map((folder) => toShared(basename(folder), [folder])),
      toShared(
        "others",
        PACKAGES.filter((folder) => !LARGE.includes(folder)),
      ),
    ],
    env: { TEST_SEED: String(SEED) },
    // More than cores: much of the suite waits, for times to pass and for processes to start.
    maxWorkers: availableParallelism() + 3,
    // Never what is tested: a machine with much else to do is slow, and no test is wrong for that.
    testTimeout: 120_000,
    // Titles show whole values. vitest would cut them after 40 characters.
    taskTitleValueFormatTruncate: 200,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000, interval: 20 } },
    sequence: { sequencer: ByProject },
    reporters: ["default", "json"],
    outputFile: { json: ".reports/vitest.json" },
    coverage: { include: ["packages/*/src/**"], reporter: ["text-summary", "html"] },
  },
});
