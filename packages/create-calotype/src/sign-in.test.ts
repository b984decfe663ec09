import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { openBrowser } from "@calotype/conformance/browser/open-browser";
import { isFull } from "@calotype/conformance/support/test-run";
import { findInstalled } from "@calotype/runtimes/installed-runtimes";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { FRAMEWORKS as ALL, type FrameworkName, namesOf, signInsOf } from "./choices.js";
import { generateApp } from "./testing/generate-app.js";
import { startApp, WITHOUT_KEYS } from "./testing/running-app.js";
import { usePage, WORKING_PAGE } from "./testing/use-page.js";

/*
 * Uses the page of apps with signed-in users in Chromium, with the packages of the workspace. `installed-apps.test.ts` installs
 * such apps from tarballs.
 */

const chromium = await openBrowser();
afterAll(() => chromium?.close());

const bun = findInstalled("Bun");
/** The others have the same page, and differ in `site.ts`. */
const FRAMEWORKS: readonly FrameworkName[] = isFull()
  ? namesOf(ALL).filter((name) => signInsOf(name).includes("better-auth") && !(name === "bun" && bun.leftOut))
  : ["express"];

function generate(framework: FrameworkName): string {
  const folder = generateApp(`sign-in-${framework}`, {
    framework,
    // It sends no links, so the page needs the stored images.
    providers: ["openai"],
    store: "memory",
    signIn: "better-auth",
  });
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe.skipIf(chromium === undefined)("a user creates an account and makes images without a key", () => {
  it.each(FRAMEWORKS)("%s", { timeout: 180_000 }, async (framework) => {
    if (chromium === undefined) return;
    const program = framework === "bun" ? bun.program : process.execPath;
    const app = await startApp([program, "dev.ts"], generate(framework));
    try {
      // Not 127.0.0.1, where `next dev` serves no script.
      const url = app.baseUrl.replace("127.0.0.1", "localhost").replace("/v1", "/");
      expect(await usePage(url, chromium.browser)).toEqual(WORKING_PAGE);
      expect(app.output()).toMatch(/"caller":"user:\w+".*"images":2,"charge":"[\d.]*[1-9]/);
      const status = (key: string) =>
        fetch(`${app.baseUrl}/models`, { headers: { authorization: `Bearer ${key}` } }).then(
          (response) => response.status,
        );
      expect([await status("sk-local"), await status("sk-other")]).toEqual([200, 401]);
    } finally {
      await app.stop();
    }
  });
});

it("does not start in production without a secret and an address", () => {
  const variables = {
    ...WITHOUT_KEYS,
    CALOTYPE_API_KEY: "sk-x",
    OPENAI_API_KEY: "x",
    NODE_ENV: "production",
  };
  const env = { ...process.env, ...variables, BETTER_AUTH_SECRET: "", BETTER_AUTH_URL: "" };
  const { status, stderr } = spawnSync(process.execPath, ["server.ts"], {
    cwd: generate("node"),
    env,
    encoding: "utf8",
  });

  expect(status).toBe(1);
  expect(stderr).toContain("BETTER_AUTH_SECRET, BETTER_AUTH_URL are not set.");
});
