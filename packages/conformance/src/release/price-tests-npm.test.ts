import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "../support/run.js";
import { BODY, createPriceProject, IMPORT, type PriceProject } from "./price-project.js";

// Only in `npm run test:full`: it installs jest with its usual tools from npm.

let project: PriceProject;
beforeAll(() => {
  project = createPriceProject();
}, 120_000);
afterAll(() => project.remove());

describe("a project with jest from npm", () => {
  beforeAll(() => {
    project.write("app/package.json", JSON.stringify({ private: true }));
    const tools = ["jest@30.5.2", "ts-jest@29.4.15", "typescript@5.9.3", "@types/jest@30"];
    const babel = ["@babel/core@7", "@babel/preset-env@7"];
    run(
      "npm",
      ["install", "--no-audit", "--no-fund", "--prefer-offline", ...tools, ...babel],
      join(project.folder, "app"),
    );
    symlinkSync(
      join(project.folder, "node_modules/@calotype"),
      join(project.folder, "app/node_modules/@calotype"),
      "junction",
    );
  }, 300_000);

  it("runs import statements with babel-jest", () => {
    project.write(
      "app/babel.config.js",
      `module.exports = { presets: [["@babel/preset-env", { targets: { node: "current" } }]] };`,
    );
    project.write("app/babel.test.js", `${IMPORT}\n${BODY}`);
    expect(runIn("app", ["babel.test.js"])).toMatchObject({ success: true, numPassedTests: 1 });
  });

  it("runs TypeScript with ts-jest, and checks its types", () => {
    const compilerOptions = {
      strict: true,
      module: "node16",
      moduleResolution: "node16",
      isolatedModules: false,
    };
    project.write(
      "app/tsconfig.json",
      JSON.stringify({ compilerOptions: { ...compilerOptions, types: ["jest"] } }),
    );
    project.write("app/jest.ts.json", JSON.stringify({ preset: "ts-jest" }));
    project.write("app/typed.test.ts", `${IMPORT}\n${BODY}`);
    expect(runIn("app", ["--config", "jest.ts.json", "typed.test.ts"])).toMatchObject({
      success: true,
      numPassedTests: 1,
    });

    project.write("app/mistyped.test.ts", `${IMPORT}\n${BODY.replace("model_price", "modelPrice")}`);
    expect(() => runIn("app", ["--config", "jest.ts.json", "mistyped.test.ts"])).toThrow("modelPrice");
  });
});

function runIn(app: string, args: readonly string[]): unknown {
  const jest = join(project.folder, app, "node_modules/jest/bin/jest.js");
  return JSON.parse(run(process.execPath, [jest, "--json", ...args], join(project.folder, app)));
}
