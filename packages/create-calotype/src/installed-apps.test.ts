import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { openBrowser } from "@calotype/conformance/browser/open-browser";
import { isFull } from "@calotype/conformance/support/test-run";
import { findInstalled } from "@calotype/runtimes/installed-runtimes";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type AppChoices, FRAMEWORKS, type FrameworkName, namesOf } from "./choices.js";
import {
  installApp,
  type PackedPackages,
  packPackages,
  runTimed,
  type TimedCommand,
  USER_ENV,
} from "./testing/packed-app.js";
import { startApp } from "./testing/running-app.js";
import { useApp, WORKING } from "./testing/use-app.js";
import { usePage, WORKING_PAGE } from "./testing/use-page.js";

/*
 * Creates apps in an empty folder from tarballs, installs them from npm, and makes images, with the commands that a user
 * types. `npm test` does this for one app, `npm run test:full` for every framework, and for two with signed-in users.
 */

const bun = findInstalled("Bun");
const PROVIDERS: AppChoices["providers"] = ["seedream", "qwen-image"];
const OTHERS: readonly FrameworkName[] = isFull()
  ? namesOf(FRAMEWORKS).filter((name) => name !== "express" && !(name === "bun" && bun.leftOut))
  : [];

let packed: PackedPackages;
beforeAll(() => {
  packed = packPackages();
}, 180_000);
afterAll(() => packed.remove(), 60_000);

const env = { ...USER_ENV, PATH: `${dirname(bun.program)}:${USER_ENV.PATH}` };

it("makes an image within two minutes, from an empty folder and without an account", {
  timeout: 240_000,
}, async () => {
  const { folder, commands } = installApp(packed, "shop", {
    framework: "express",
    providers: PROVIDERS,
    store: "sqlite",
    signIn: "none",
  });

  const startedAt = performance.now();
  const app = await startApp(["npm", "run", "dev"], folder, env);
  const listening = (performance.now() - startedAt) / 1000;
  const curl = readCurl(folder, app.baseUrl);
  const requested = runTimed(curl, folder);
  const total = printSeconds([...commands, { command: "npm run dev", seconds: listening }, requested]);
  const healthcheck = /HEALTHCHECK[^[]*(\[.*\])/.exec(readFileSync(join(folder, "Dockerfile"), "utf8"))?.[1];
  const [program = "", ...args]: string[] = JSON.parse(healthcheck ?? "[]");
  const { port } = new URL(app.baseUrl);
  const isHealthy = () => spawnSync(program, args, { env: { ...env, PORT: port } }).status;
  expect(isHealthy()).toBe(0);
  await app.stop();
  expect(isHealthy()).toBe(1);

  expect(requested.output).toBe("");
  expect(readFileSync(join(folder, "oak.jpg")).subarray(0, 2).toString("hex")).toBe("ffd8");
  expect(total).toBeLessThan(120);
  runTimed("npm test", folder);
  runTimed("npm run typecheck", folder);
});

// Not `describe.runIf`, which counts as skipped: with CI=true no test may be.
describe.each(isFull() ? ["makes an image and edits an upload"] : [])("an installed app %s", () => {
  it.each(OTHERS)("%s", { timeout: 400_000 }, async (framework) => {
    const choices = { framework, providers: PROVIDERS, store: "memory", signIn: "none" } as const;
    const { folder } = installApp(packed, `app-${framework}`, choices);
    onTestFinished(() => rmSync(folder, { recursive: true }), 60_000);
    const app = await startApp(["npm", "run", "dev"], folder, env);
    try {
      expect(await useApp(app)).toEqual(framework === "workers" ? { ...WORKING, studio: [] } : WORKING);
    } finally {
      await app.stop();
    }
    runTimed("npm run typecheck", folder);
    if (framework !== "bun") runTimed("npm test", folder);
    runTimed("npm run build --if-present", folder);
  });

  it.each(["express", "next"] as const)(
    "%s with signed-in users, in a browser",
    {
      timeout: 400_000,
    },
    async (framework) => {
      const chromium = await openBrowser();
      if (chromium === undefined) return;
      onTestFinished(chromium.close);
      const choices = { framework, providers: PROVIDERS, store: "sqlite", signIn: "better-auth" } as const;
      const { folder, commands } = installApp(packed, `users-${framework}`, choices);
      onTestFinished(() => rmSync(folder, { recursive: true }), 60_000);
      const startedAt = performance.now();
      const app = await startApp(["npm", "run", "dev"], folder, env);
      try {
        const listening = (performance.now() - startedAt) / 1000;
        const url = app.baseUrl.replace("127.0.0.1", "localhost").replace("/v1", "/");
        expect(await usePage(url, chromium.browser)).toEqual(WORKING_PAGE);
        const used = (performance.now() - startedAt) / 1000 - listening;
        const total = printSeconds([
          ...commands,
          { command: "npm run dev", seconds: listening },
          { command: "two accounts, two images, a reload", seconds: used },
        ]);
        expect(total).toBeLessThan(120);
      } finally {
        await app.stop();
      }
      runTimed("npm run typecheck", folder);
      runTimed("npm run build --if-present", folder);
    },
  );
});

/** Prints how long each command took, and returns the sum in seconds. */
function printSeconds(commands: readonly Pick<TimedCommand, "command" | "seconds">[]): number {
  const total = commands.reduce((sum, { seconds }) => sum + seconds, 0);
  for (const { command, seconds } of [...commands, { command: "in total", seconds: total }])
    process.stdout.write(`${seconds.toFixed(1).padStart(6)} s  ${command.split("\n")[0]}\n`);
  return total;
}

/** The commands of the app's README that make an image and write it to a file, with the port of the test. */
function readCurl(folder: string, baseUrl: string): string {
  const [, curl = ""] =
    /^```sh\n(curl [^]*?)^```$/m.exec(readFileSync(join(folder, "README.md"), "utf8")) ?? [];
  return curl.replace("http://localhost:8787/v1", baseUrl);
}
