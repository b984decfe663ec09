import { beforeAll, describe, expect, it } from "vitest";
import { CHECKS } from "../suite/suite.ts";
import type { InstalledRuntime } from "./installed-runtimes.ts";
import type { ProgramEnd } from "./run-program.ts";
import { runSuite } from "./run-suite.ts";

/** What a runtime is expected to say of itself. */
export interface Expected {
  readonly version: RegExp;
  /** The checks that it cannot pass. */
  readonly cannot: readonly string[];
}

/** Runs the suite on a runtime, and shows each check as a test. */
export function describeRuntime(runtime: InstalledRuntime, { version, cannot }: Expected): void {
  describe.skipIf(runtime.leftOut)(`@calotype/core on ${labelOf(runtime)}`, () => {
    let end: ProgramEnd;
    let lines: readonly string[];
    beforeAll(async () => {
      end = await runSuite(runtime);
      lines = end.output.trimEnd().split("\n");
    }, 230_000);

    it.each(CHECKS.filter(({ name }) => !cannot.includes(name)))("$name", ({ name }) => {
      const line = lines.find((each) => each === `ok ${name}` || each.includes(` ${name}: `));
      expect(line ?? end.errors).toBe(`ok ${name}`);
    });

    it("says which version it is, and what it cannot do", () => {
      expect(lines.at(-1)).toMatch(version);
      const named = lines.filter((line) => line.startsWith("left out "));
      expect(named.map((line) => line.replace(/^left out ([^:]+): .*$/, "$1"))).toEqual(cannot);
      expect(end.exitCode).toBe(0);
    });
  });
}

/** The runtime's name in a title, with why its tests are skipped where they are. */
export function labelOf({ name, leftOut }: InstalledRuntime): string {
  return leftOut === undefined ? name : `${name}, left out: ${leftOut}`;
}
