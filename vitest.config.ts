import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { isFull, SEED } from "./packages/conformance/src/support/test-run.ts";

/** Packages whose test files share processes: they keep nothing from one file to the next. */
const SHARED = new Set(["@calotype/core", "@calotype/emulator", "@calotype/node", "@calotype/sqlite"]);

/** Files that take ten seconds and more, the longest first: begun last, they would end alone. */
const LONG = [
  "packages/conformance/src/hosts/next.test.ts",
  "examples/next-app/start.test.ts",
  "packages/create-calotype/src/installed-apps.test.ts",
  "packages/create-calotype/src/running-apps.test.ts",
  "packages/conformance/src/studio/studio.test.ts",
  "packages/runtimes/src/node-22.test.ts",
  "packages/conformance/src/fleet/kills.test.ts",
  "packages/conformance/src/ledgers/postgres.test.ts",
  "packages/conformance/src/settlement/settlement.test.ts",
  "packages/s3/src/put.test.ts",
  "packages/runtimes/src/bun.test.ts",
  "packages/conformance/src/packed-tarballs.test.ts",
  "packages/harden/src/harden.test.ts",
  "packages/conformance/src/results/memory.test.ts",
  "packages/conformance/src/hosts/koa-3.test.ts",
  "packages/conformance/src/hosts/express-5.test.ts",
  "packages/conformance/src/readme.test.ts",
  "packages/conformance/src/hosts/node-http.test.ts",
  "packages/conformance/src/settlement/repeats.test.ts",
  "packages/postgres/src/late-tasks.test.ts",
  "examples/express-app/server.test.ts",
  "packages/runtimes/src/node-24.test.ts",
  "packages/postgres/src/create-postgres-ledger.test.ts",
  "packages/conformance/src/admission-stores/redis-absence.test.ts",
  "packages/conformance/src/ledgers/sqlite.test.ts",
  "packages/node/src/send-response.test.ts",
  "examples/express-app/callers.test.ts",
  "examples/flux-family/flux-family.test.ts",
  "examples/demo/demo.test.ts",
  "packages/conformance/src/browser/page.test.ts",
  "packages/conformance/src/studio/usage.test.ts",
  "packages/conformance/src/browser/stored-images.test.ts",
  "packages/conformance/src/fleet-simulation/fleet-simulation.test.ts",
  "packages/conformance/src/crashes/task-writes.test.ts",
  "packages/core/src/tasks-faults.test.ts",
  "packages/conformance/src/work-per-request/work-per-request.test.ts",
  "packages/core/src/responses/early-images.test.ts",
  "packages/node/src/slow-bodies.test.ts",
  "packages/core/src/upstream/transport.test.ts",
  "packages/conformance/src/postgres/tasks.test.ts",
  "packages/conformance/src/large-responses-of-disconnected-clients.test.ts",
  "packages/core/src/stored-results-faults.test.ts",
];

/** Minutes of work on a busy machine: only in `npm run test:full`. */
const FULL_ONLY = [
  "**/fleet/task-kills.test.ts",
  "**/release/price-tests-npm.test.ts",
  "**/whole-site.test.ts",
];

/** Tests of the apps that `create-calotype` writes: they run on `node:test`. From the folder of a package. */
const TEMPLATES = ["templates/**", ".generated/**"];

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
  const exclude = [...configDefaults.exclude, ...TEMPLATES, ...(isFull() ? [] : FULL_ONLY)];
  const setupFiles = [WAIT_LONGER, ...(name === "@calotype/core" ? [SEED_FAST_CHECK] : [])];
  return { test: { name, root: dirname(file), isolate: !SHARED.has(name), exclude, setupFiles } };
}

const PACKAGES = globSync("{packages,examples}/*/package.json", { cwd: import.meta.dirname }).toSorted();

export default defineConfig({
  test: {
    projects: PACKAGES.map(toProject),
    env: { TEST_SEED: String(SEED) },
    // Two more than cores: much of the suite waits, for times to pass and for processes to start.
    maxWorkers: availableParallelism() + 2,
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
