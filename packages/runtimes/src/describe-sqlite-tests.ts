import { globSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { labelOf } from "./describe-runtime.ts";
import { ROOT } from "./folders.ts";
import type { InstalledRuntime } from "./installed-runtimes.ts";
import { runTests } from "./run-core-tests.ts";

/** More than half of what there is; a pattern that matches little must not pass. */
const MIN_TESTS = 40;

/** Everything but the crashes, which take long and test the file system. `--exclude` has no effect on a project. */
const PATHS = globSync("packages/sqlite/src/*.test.ts", { cwd: ROOT, exclude: ["**/*crashes.test.ts"] });

/** Runs the tests of `packages/sqlite` on a runtime, as one test: `node:sqlite` differs between versions. */
export function describeSqliteTests(runtime: InstalledRuntime): void {
  describe.skipIf(runtime.leftOut)(`the tests of @calotype/sqlite on ${labelOf(runtime)}`, () => {
    it("pass", { timeout: 430_000 }, async () => {
      const { passed, failed } = await runTests(runtime, ["--project=others", ...PATHS]);
      expect(failed).toEqual([]);
      expect(passed).toBeGreaterThan(MIN_TESTS);
    });
  });
}
