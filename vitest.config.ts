import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Packages whose test files share processes: they keep nothing from one file to the next. */
const SHARED = new Set(["@calotype/core", "@calotype/emulator"]);

/** Files that take ten seconds and more, the longest first: begun last, they would end alone. */
const LONG = [
  "packages/harden/src/harden.test.ts",
  "packages/runtimes/src/bun.test.ts",
  "packages/runtimes/src/node-22.test.ts",
  "packages/conformance/src/crashes/kills.test.ts",
  "packages/s3/src/put.test.ts",
  "packages/sqlite/src/crashes.test.ts",
  "packages/conformance/src/fleet/kills.test.ts",
  "packages/conformance/src/ledgers/sqlite.test.ts",
  "packages/conformance/src/readme.test.ts",
  "packages/conformance/src/fleet/stop-redis.test.ts",
  "packages/conformance/src/crashes/writes.test.ts",
  "packages/conformance/src/admission-stores/redis-absence.test.ts",
  "packages/conformance/src/fleet/example.test.ts",
  "packages/runtimes/src/node-24.test.ts",
  "packages/conformance/src/browser/stored-images.test.ts",
];

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
  return { test: { name, root: dirname(file), isolate: !SHARED.has(name) } };
}

const PACKAGES = globSync("{packages,examples}/*/package.json", { cwd: import.meta.dirname }).toSorted();

export default defineConfig({
  test: {
    projects: PACKAGES.map(toProject),
    // One more than cores: much of the suite waits, for times to pass and for processes to start.
    maxWorkers: availableParallelism() + 1,
    // Never what is tested: a machine with much else to do is slow, and no test is wrong for that.
    testTimeout: 20_000,
    expect: { poll: { timeout: 10_000 } },
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "json"],
    outputFile: { json: ".reports/vitest.json" },
    coverage: { include: ["packages/*/src/**"], reporter: ["text-summary", "html"] },
  },
});
