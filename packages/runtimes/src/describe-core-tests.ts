import { describe, expect, it } from "vitest";
import { labelOf } from "./describe-runtime.ts";
import type { InstalledRuntime } from "./installed-runtimes.ts";
import { isFull } from "./is-full.ts";
import { runCoreTests } from "./run-core-tests.ts";

/** More than half of what there is; a pattern that matches little must not pass. */
const MIN_TESTS = 1_000;

/**
 * The code that uses sockets, files, streams and bytes of the runtime. Everything else is only JavaScript, and runs with
 * `npm run test:full` and `npm run test:runtimes`.
 */
const OF_THE_RUNTIME = ["images", "responses", "results", "upstream", "util"].map((name) => `src/${name}/`);

/** Runs the tests of `packages/core` on a runtime, as one test. */
export function describeCoreTests(runtime: InstalledRuntime): void {
  describe.skipIf(runtime.leftOut)(`the tests of @calotype/core on ${labelOf(runtime)}`, () => {
    it("pass", { timeout: 430_000 }, async () => {
      const { passed, failed } = await runCoreTests(runtime, isFull() ? [] : OF_THE_RUNTIME);
      expect(failed).toEqual([]);
      expect(passed).toBeGreaterThan(MIN_TESTS);
    });
  });
}
