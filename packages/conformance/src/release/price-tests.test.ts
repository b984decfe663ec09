import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "../support/run.js";
import { ROOT } from "../support/workspace.js";
import {
  BODY,
  CALCULATION,
  createPriceProject,
  IMPORT,
  type PriceProject,
  REQUIRE,
} from "./price-project.js";

// Unit tests of prices, as users write them, on the packed tarball and outside of the workspace. The file price-tests-npm.test.ts
// has babel-jest and ts-jest.

let project: PriceProject;
beforeAll(() => {
  project = createPriceProject();
  symlinkSync(join(ROOT, "node_modules/vitest"), join(project.folder, "node_modules/vitest"), "junction");
}, 120_000);
afterAll(() => project.remove());

/** The jest of this package, without a configuration. */
const runJest = (file: string): string =>
  run(
    process.execPath,
    [join(ROOT, "packages/conformance/node_modules/jest/bin/jest.js"), "--json", "--runTestsByPath", file],
    project.folder,
  );

describe("a unit test of a price", () => {
  it("runs in jest without configuration", () => {
    project.write("package.json", "{}");
    project.write("price.test.js", `${REQUIRE}\n${BODY}`);
    expect(JSON.parse(runJest("price.test.js"))).toMatchObject({ success: true, numPassedTests: 1 });
  });

  it("fails in jest if the price is wrong", () => {
    project.write("package.json", "{}");
    project.write("wrong.test.js", `${REQUIRE}\n${BODY.replace('"0.12"', '"0.13"')}`);
    expect(() => runJest("wrong.test.js")).toThrow("0.13");
  });

  it("runs in vitest without configuration", () => {
    project.write("package.json", "{}");
    project.write("vitest.test.mjs", `import { expect, test } from "vitest";\n${IMPORT}\n${BODY}`);
    const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
    const args = [vitest, "run", "vitest.test.mjs", "--root", project.folder, "--reporter=tap-flat"];
    expect(run(process.execPath, args, project.folder)).toMatch(/^ok 1 - vitest\.test\.mjs > three images/m);
  });

  it.each([
    [
      "an ES module",
      "node.test.mjs",
      `import test from "node:test"; import assert from "node:assert";\n${IMPORT}`,
    ],
    [
      "CommonJS",
      "node.test.cjs",
      `const test = require("node:test"); const assert = require("node:assert");\n${REQUIRE}`,
    ],
  ])("runs in node:test as %s", (_, name, head) => {
    project.write(name, `${head}\ntest("three images", () => assert.equal(${CALCULATION}, "0.12"));\n`);
    expect(run(process.execPath, ["--test", "--test-reporter=tap", name], project.folder)).toMatch(
      /^# pass 1$/m,
    );
  });

  it("gets the ES module from require of Node, and so the one class GatewayError", () => {
    // Without the condition `module-sync`, Node would load a second copy.
    project.write(
      "one-copy.cjs",
      `${REQUIRE}
       import("@calotype/core/billing").then((esm) => console.log(esm.calculateCharge === calculateCharge));`,
    );
    expect(run(process.execPath, ["one-copy.cjs"], project.folder).trim()).toBe("true");
  });
});

it("only this entry point has a CommonJS build", () => {
  const { exports } = JSON.parse(readFileSync(join(ROOT, "packages/core/package.json"), "utf8")) as {
    exports: Record<string, object | string>;
  };
  const both = Object.entries(exports).filter(
    ([, target]) => typeof target === "object" && "require" in target,
  );
  expect(both.map(([entry]) => entry)).toEqual(["./billing"]);
});
