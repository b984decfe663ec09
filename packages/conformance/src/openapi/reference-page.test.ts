import { writeFileSync } from "node:fs";
import type { ReferencePage } from "@calotype/core/reference";
import { toExpressHandler } from "@calotype/express";
import express from "express";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { listen } from "../support/listen.js";
import { CALLER_KEY, startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { ROOT, readText } from "../support/workspace.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

/** The expression for the option `reference` in the documentation. */
async function readExample(): Promise<ReferencePage> {
  const [, code = ""] = /```ts\n([^`]*createReference[\s\S]*?)```/.exec(readText("docs/openapi.md")) ?? [];
  const [, option = ""] = /reference: (createReference\(.*\)),\n/.exec(code) ?? [];
  const [before = ""] = code.split("export const gateway");
  const file = `${ROOT}/packages/conformance/fixtures/openapi-client/reference.ts`;
  writeFileSync(file, `${before}\nexport const reference = ${option};\n`);
  const { reference }: { reference: ReferencePage } = await import(file);
  return reference;
}

describe.runIf(opened !== undefined)("the page of the documentation in Chromium", () => {
  const providers = useProviders();

  it("shows the operations, sends requests, and loads nothing from other servers", async () => {
    const { gateway } = startGateway(providers(), { openapi: true, reference: await readExample() });
    const { url, close } = await listen(express().use("/ai", toExpressHandler(gateway)));
    onTestFinished(close);
    const context = await opened?.browser.newContext();
    if (context === undefined) throw new Error("The browser is not open.");
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const requested = new Set<string>();
    page.on("request", (request) => requested.add(new URL(request.url()).origin));
    // What the policy forbids is an error in the console.
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));

    await page.goto(`${url}/ai/reference`);
    await page.getByText("Make images from text, or from text and reference images").waitFor();
    await page.getByRole("button", { name: "Authorize" }).click();
    await page.getByLabel("auth-bearer-value").fill(CALLER_KEY);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Close" }).first().click();
    await page.getByText("List the models that the key may use").click();
    await page.getByRole("button", { name: "Try it out" }).click();
    const sent = page.waitForResponse(`${url}/ai/v1/models`);
    await page.getByRole("button", { name: "Execute" }).click();

    expect((await sent).status()).toBe(200);
    expect([...requested].filter((origin) => origin !== "null")).toEqual([url]);
    expect(complaints).toEqual([]);
    // The key is in the memory of the page only.
    const kept = await page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])");
    expect(kept).toBe('[{},{},""]');
  });
});
