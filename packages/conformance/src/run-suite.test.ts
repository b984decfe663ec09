import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ROOT } from "./support/workspace.js";

const DIGITS = "5e6f7a8b";
const KEY = `canary-${DIGITS}`;
const RUN_SUITE = join(ROOT, "packages/conformance/src/run-suite.ts");
const CONFIG = `export default {
  test: { globals: true, reporters: ["default", "json"], outputFile: { json: ".reports/vitest.json" } },
};`;

const folder = mkdtempSync(join(tmpdir(), "calotype-run-suite-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The environment without the variables that vitest sets for its tests. */
const ENVIRONMENT = {
  NODE_ENV: "test" as const,
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/VITEST|FORCE_COLOR/.test(name))),
  NO_COLOR: "1",
};

const hide = (text: string): string => text.replaceAll(KEY, "<key>");

/** Runs a suite of one file in a separate project. The key is removed from the returned output. */
function runSuite(name: string, test: string) {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(join(project, "vitest.config.mjs"), CONFIG);
  writeFileSync(join(project, "one.test.mjs"), test);
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUN_SUITE, "run"], {
    cwd: project,
    env: ENVIRONMENT,
    encoding: "utf8",
  });
  const report = readFileSync(join(project, ".reports/vitest.json"), "utf8");
  return { status, stdout: hide(stdout), stderr: hide(stderr), report: hide(report) };
}

describe("the runner of the suite", () => {
  it("returns vitest's output, report and exit code", () => {
    const { status, stdout, stderr, report } = runSuite(
      "sound",
      `it("adds", () => console.log("sum", 1 + 1));`,
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/sum 2[\s\S]*1 passed/);
    expect(report).toContain('"numPassedTests":1');
  });

  it("fails if a test fails", () => {
    const { status, stdout, stderr } = runSuite("failing", `it("adds", () => expect(1 + 1).toBe(3));`);
    expect(status).toBe(1);
    expect(stdout).toContain("1 failed");
    expect(stderr).not.toContain("came to light");
  });

  it("fails if a passing test complains with a key, or is named after one", () => {
    const { status, stderr } = runSuite("shown", `it("adds ${KEY}", () => console.error("${KEY}"));`);
    const places = ["its error output", ".reports/vitest.json"];
    expect(status).toBe(1);
    expect(stderr).toContain("Keys of the tests came to light:\n");
    for (const place of places) expect(stderr).toContain(`  <key> in ${place}\n`);
  });
});
