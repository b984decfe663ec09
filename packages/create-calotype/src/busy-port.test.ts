import { rmSync } from "node:fs";
import { join } from "node:path";
import { run } from "@calotype/conformance/support/run";
import { ENDS_WITH_ERROR, runOnBusyPort } from "@calotype/conformance/support/run-on-busy-port";
import { findInstalled } from "@calotype/runtimes/installed-runtimes";
import { describe, expect, it, onTestFinished } from "vitest";
import type { FrameworkName } from "./choices.js";
import { GENERATED, generateApp } from "./testing/generate-app.js";
import { WITHOUT_KEYS } from "./testing/running-app.js";

/* `npm run dev` of each framework on a port that is in use. Not here: Workers, where wrangler listens. */

const bun = findInstalled("Bun");

const APPS: readonly (readonly [FrameworkName, string, string])[] = [
  ["express", process.execPath, "dev.ts"],
  ["fastify", process.execPath, "dev.ts"],
  ["hono", process.execPath, "dev.ts"],
  ["koa", process.execPath, "dev.ts"],
  ["lambda", process.execPath, "dev.ts"],
  ["next", process.execPath, "dev.ts"],
  ["node", process.execPath, "dev.ts"],
  ["nestjs", process.execPath, "dist/dev.js"],
  ...(bun.leftOut ? [] : [["bun", bun.program, "dev.ts"] as const]),
];

describe.concurrent("an app whose port is in use prints the error, ends with 1, and names no address of its own", () => {
  it.each(APPS)("%s", async (framework, program, file) => {
    const folder = generateApp(`busy-${framework}`, {
      framework,
      providers: ["seedream"],
      store: "memory",
      signIn: "none",
    });
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    if (framework === "nestjs")
      run(process.execPath, [join(GENERATED, "../../../node_modules/typescript/bin/tsc")], folder);

    const result = await runOnBusyPort(() => [program, file], { cwd: folder, env: WITHOUT_KEYS });

    expect(result).toEqual({ ...ENDS_WITH_ERROR, output: expect.any(String) });
  });
});
