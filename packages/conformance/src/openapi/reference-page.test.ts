import { writeFileSync } from "node:fs";
import { toExpressHandler } from "@calotype/express";
import express, { type Express } from "express";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { listen } from "../support/listen.js";
import { startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { ROOT, readText } from "../support/workspace.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

/** The code of the documentation. */
async function readExample(): Promise<(app: Express) => void> {
  const [, code = ""] = /```ts\n([^`]*mountReference[\s\S]*?)```/.exec(readText("docs/openapi.md")) ?? [];
  const file = `${ROOT}/packages/conformance/fixtures/openapi-client/reference.ts`;
  writeFileSync(file, code);
  const { mountReference }: { mountReference: (app: Express) => void } = await import(file);
  return mountReference;
}

describe.runIf(opened !== undefined)("the page of the documentation in Chromium", () => {
  const providers = useProviders();

  it("shows the operations, and loads nothing from other servers", { timeout: 60_000 }, async () => {
    const { gateway } = startGateway(providers(), { openapi: true });
    const app = express().use(toExpressHandler(gateway));
    (await readExample())(app);
    const { url, close } = await listen(app);
    onTestFinished(close);
    const context = await opened?.browser.newContext();
    if (context === undefined) throw new Error("The browser is not open.");
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const requested = new Set<string>();
    page.on("request", (request) => requested.add(new URL(request.url()).origin));

    await page.goto(`${url}/reference/`);
    await page.getByText("Make images from text, or from text and reference images").waitFor();

    expect([...requested].filter((origin) => origin !== "null")).toEqual([url]);
  });
});
