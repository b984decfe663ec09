import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import config from "../../../../vitest.config.ts";
import { CACHE, ORDER, REPORT } from "./run-tests.ts";

/** Runs the files in the order that is given, so that the tests that fail most likely come first. */
class AsGiven extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const order = (process.env[ORDER] ?? "").split(",");
    const placeOf = ({ moduleId }: TestSpecification): number =>
      order.findIndex((path) => moduleId.endsWith(`/${path}`));
    return files.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

const NOTE_TEST = join(import.meta.dirname, "note-test.ts");

/** The tests of the workspace as always, but with short limits: a mutant that hangs shall not hold up the run. */
export default defineConfig({
  ...config,
  cacheDir: CACHE,
  test: {
    ...config.test,
    projects: (config.test?.projects ?? []).map((project) => {
      if (typeof project !== "object" || !("test" in project))
        throw new TypeError("A project has no options");
      return { test: { ...project.test, setupFiles: [project.test?.setupFiles ?? [], NOTE_TEST].flat() } };
    }),
    testTimeout: 30_000,
    hookTimeout: 30_000,
    sequence: { sequencer: AsGiven },
    reporters: ["json"],
    outputFile: { json: process.env[REPORT] ?? ".reports/mutants.json" },
    fsModuleCachePath: join(CACHE, "modules"),
  },
});
