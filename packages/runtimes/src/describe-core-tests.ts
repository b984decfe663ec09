import { globSync } from "node:fs";
import { isFull } from "@calotype/conformance/support/test-run";
import { describe, expect, it } from "vitest";
import { labelOf } from "./describe-runtime.ts";
import { ROOT } from "./folders.ts";
import type { InstalledRuntime } from "./installed-runtimes.ts";
import { runCoreTests } from "./run-core-tests.ts";

/** More than half of what there is; a pattern that matches little must not pass. */
const MIN_TESTS = 1_000;

/**
 * The code that uses sockets, files, streams and bytes of the runtime. Everything else is only JavaScript, and runs with
 * `npm run test:full` and `npm run test:runtimes`.
 */
const OF_THE_RUNTIME = "packages/core/src/{images,responses,results,upstream,util}/*.test.ts";
/** Long tests there that are only JavaScript too: policies in virtual time, parsers on random bytes, and long strings. */
const ONLY_JAVASCRIPT =
  "**/{cooldown-probes,dispatch-properties,early-images,json-scanner,long-strings,mask-bytes,model-cooldown,rewrite,spool-reuse,sse-reader}.test.ts";

/** Runs the tests of `packages/core` on a runtime, as one test. */
export function describeCoreTests(runtime: InstalledRuntime): void {
  describe.skipIf(runtime.leftOut)(`the tests of @calotype/core on ${labelOf(runtime)}`, () => {
    it("pass", { timeout: 430_000 }, async () => {
      const paths = globSync(OF_THE_RUNTIME, { cwd: ROOT, exclude: [ONLY_JAVASCRIPT] });
      const { passed, failed } = await runCoreTests(runtime, isFull() ? [] : paths);
      expect(failed).toEqual([]);
      expect(passed).toBeGreaterThan(MIN_TESTS);
    });
  });
}
