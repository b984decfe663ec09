import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "@calotype/conformance/support/run";
import { isFull } from "@calotype/conformance/support/test-run";
import { findInstalled } from "@calotype/runtimes/installed-runtimes";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { FrameworkName } from "./choices.js";
import { GENERATED, generateApp } from "./testing/generate-app.js";
import { startApp } from "./testing/running-app.js";
import { useApp, WORKING } from "./testing/use-app.js";

/*
 * Runs one app for each framework with the packages of the workspace. `installed-apps.test.ts` installs apps from tarballs.
 */

const bun = findInstalled("Bun");
/** The others have tests of their own, in `packages/conformance/src/hosts` and in `examples`. */
const NODE_APPS: readonly FrameworkName[] = isFull()
  ? ["express", "fastify", "hono", "koa", "lambda", "next", "node"]
  : ["express", "fastify", "hono", "lambda"];

const folderOf = (name: string): string => join(GENERATED, `running-${name}`);
afterAll(() => rmSync(folderOf(""), { recursive: true, force: true }));

function generate(framework: FrameworkName): string {
  const folder = generateApp(`running-${framework}`, {
    framework,
    providers: ["seedream", "qwen-image"],
    store: "memory",
  });
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts an app, uses it, and ends it with SIGTERM. */
async function runApp(command: readonly string[], folder: string) {
  const app = await startApp(command, folder);
  try {
    return await useApp(app);
  } finally {
    await app.stop();
  }
}

describe.concurrent("an app makes an image and edits an upload", () => {
  it.each(NODE_APPS)("%s", async (framework) => {
    expect(await runApp([process.execPath, "dev.ts"], generate(framework))).toEqual(WORKING);
  });

  it("nestjs, compiled", async () => {
    const folder = generate("nestjs");
    const tsc = join(import.meta.dirname, "../../../node_modules/typescript/bin/tsc");
    run(process.execPath, [tsc], folder);
    expect(await runApp([process.execPath, "dist/dev.js"], folder)).toEqual(WORKING);
  });

  it("workers, on Node", async () => {
    const folder = generate("workers");
    const host = join(folder, "host.ts");
    writeFileSync(host, WORKER_HOST);
    expect(await runApp([process.execPath, host], folder)).toEqual(WORKING);
  });

  it.skipIf(bun.leftOut)("bun", async () => {
    expect(await runApp([bun.program, "dev.ts"], generate("bun"))).toEqual(WORKING);
  });
});

/** Calls the worker as workerd does. `npm run test:full` runs it with wrangler. */
const WORKER_HOST = `import { serve } from "@hono/node-server";
import { emulateProviders } from "./emulate-providers.ts";

Object.assign(process.env, await emulateProviders());
const { default: app } = await import("./server.ts");
const context = { waitUntil: () => {}, passThroughOnException: () => {}, props: {} };
const server = serve({ fetch: (request) => app.fetch(request, {}, context), port: Number(process.env.PORT) });
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => server.close());
`;

it("the tests of its prices pass", () => {
  const folder = generateApp("running-prices", {
    framework: "node",
    providers: ["seedream", "qwen-image", "openai", "gemini"],
    store: "memory",
  });
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));

  expect(run(process.execPath, ["--test"], folder)).toMatch(/pass 8\n.*fail 0/s);
});
