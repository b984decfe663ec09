import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { isFull, SEED } from "./packages/conformance/src/support/test-run.ts";

/** Packages whose test files share processes: they keep nothing from one file to the next. */
const SHARED = new Set(["@calotype/core", "@calotype/emulator"]);

/** Files that take ten seconds and more, the longest first: begun last, they would end alone. */
const LONG = [
  "packages/harden/src/harden.test.ts",
  "packages/runtimes/src/node-22.test.ts",
  "packages/runtimes/src/bun.test.ts",
  "packages/s3/src/put.test.ts",
  "packages/conformance/src/ledgers/sqlite.test.ts",
  "packages/conformance/src/fleet/kills.test.ts",
  "packages/conformance/src/studio/studio.test.ts",
  "packages/conformance/src/hosts/next.test.ts",
  "packages/conformance/src/hosts/express-4.test.ts",
  "packages/conformance/src/hosts/express-5.test.ts",
  "packages/conformance/src/hosts/node-http.test.ts",
  "packages/conformance/src/hosts/koa-2.test.ts",
  "packages/conformance/src/hosts/koa-3.test.ts",
  "packages/conformance/src/results/memory.test.ts",
  "packages/conformance/src/models/every-model.test.ts",
  "packages/conformance/src/crashes/kills.test.ts",
  "packages/conformance/src/crashes/task-writes.test.ts",
  "packages/conformance/src/crashes/task-kills.test.ts",
  "packages/sqlite/src/crashes.test.ts",
  "packages/conformance/src/ledgers/postgres.test.ts",
  "packages/conformance/src/settlement/settlement.test.ts",
  "packages/conformance/src/settlement/repeats.test.ts",
  "packages/conformance/src/large-responses-of-disconnected-clients.test.ts",
  "examples/flux-family/flux-family.test.ts",
  "packages/harden/src/function-part.test.ts",
  "packages/sqlite/src/task-crashes.test.ts",
  "packages/conformance/src/fleet-simulation/fleet-simulation.test.ts",
  "packages/conformance/src/admission-stores/redis-absence.test.ts",
];

/** Minutes of work on a busy machine: only in `npm run test:full`. */
const FULL_ONLY = ["**/fleet/task-kills.test.ts"];

const WAIT_LONGER = join(import.meta.dirname, "packages/conformance/src/support/wait-longer.ts");
const SEED_FAST_CHECK = join(import.meta.dirname, "packages/core/src/testing/seed-fast-check.ts");

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- vitest's, and not of an array
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const place = LONG.findIndex((file) => moduleId.endsWith(`/${file}`));
  return place === -1 ? LONG.length : place;
}

function toProject(file: string) {
  const { name } = JSON.parse(readFileSync(join(import.meta.dirname, file), "utf8"));
  const exclude = [...configDefaults.exclude, ...(isFull() ? [] : FULL_ONLY)];
  const setupFiles = [WAIT_LONGER, ...(name === "@calotype/core" ? [SEED_FAST_CHECK] : [])];
  return { test: { name, root: dirname(file), isolate: !SHARED.has(name), exclude, setupFiles } };
}

const PACKAGES = globSync("{packages,examples}/*/package.json", { cwd: import.meta.dirname }).toSorted();

export default defineConfig({
  test: {
    projects: PACKAGES.map(toProject),
    env: { TEST_SEED: String(SEED) },
    // One more than cores: much of the suite waits, for times to pass and for processes to start.
    maxWorkers: availableParallelism() + 1,
    // Never what is tested: a machine with much else to do is slow, and no test is wrong for that.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "json"],
    outputFile: { json: ".reports/vitest.json" },
    coverage: { include: ["packages/*/src/**"], reporter: ["text-summary", "html"] },
  },
});
