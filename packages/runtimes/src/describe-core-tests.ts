import { describe, expect, it } from "vitest";
import { labelOf } from "./describe-runtime.ts";
import type { InstalledRuntime } from "./installed-runtimes.ts";
import { runCoreTests } from "./run-core-tests.ts";

/** About half of what there is; a run that finds few tests must not pass. */
const MIN_TESTS = 7_000;

/** Runs the tests of `packages/core` on a runtime, as one test. */
export function describeCoreTests(runtime: InstalledRuntime): void {
  describe.skipIf(runtime.leftOut)(`the tests of @calotype/core on ${labelOf(runtime)}`, () => {
    it("pass", { timeout: 430_000 }, async () => {
      const { passed, failed } = await runCoreTests(runtime);
      expect(failed).toEqual([]);
      expect(passed).toBeGreaterThan(MIN_TESTS);
    });
  });
}
