import { describe, expect, it } from "vitest";
import { labelOf } from "./describe-runtime.ts";
import { PACKAGE } from "./folders.ts";
import type { InstalledRuntime } from "./installed-runtimes.ts";
import { runProgram } from "./run-program.ts";

/** Node 22 says so of `node:sqlite`, which `@calotype/sqlite` loads. */
const QUIET = "--disable-warning=ExperimentalWarning";

/** `require` of packages that are ESM only, in a CommonJS program. */
export function describeRequire(runtime: InstalledRuntime): void {
  describe.skipIf(runtime.leftOut)(`require() on ${labelOf(runtime)}`, () => {
    it("loads every package", { timeout: 90_000 }, async () => {
      const options = { cwd: PACKAGE, timeoutMs: 60_000 };
      const { output, errors } = await runProgram(runtime.program, [QUIET, "src/require-all.cjs"], options);
      expect({ output, errors }).toEqual({ output: "required 12 entries\n", errors: "" });
    });
  });
}
