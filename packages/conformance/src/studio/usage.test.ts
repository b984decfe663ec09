import { readFileSync } from "node:fs";
import { createMemoryLedger, type Gateway } from "@calotype/core";
import type { Ledger } from "@calotype/core/stores";
import { afterAll, describe, expect, it } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { CALLER_KEY, SEEDREAM } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { fillLedger, SHOWN_ID } from "./fill-ledger.js";
import { openStudioPage, type StudioPage, type StudioPageOptions } from "./open-page.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

describe.runIf(opened !== undefined)("Usage in Chromium", { timeout: 60_000 }, () => {
  const providers = useProviders({ images: "tiny" });
  const open = async (options?: StudioPageOptions): Promise<StudioPage> => {
    if (opened === undefined) throw new Error("The browser is not open.");
    return openStudioPage(opened, providers(), options);
  };

  it("shows a request of Try, how it was charged, and finds it by its id and by its filters", async () => {
    const { page, records, complaints } = await open({ studio: { caller: "tester" } });

    await page.getByLabel("Prompt").fill("a fox");
    await page.getByRole("button", { name: "Make images" }).click();
    await page.getByText("Charge 0.03").waitFor();
    await page.getByRole("link", { name: "Usage" }).click();
    await page.locator(".figure", { hasText: "0.03" }).waitFor();
    await page.getByRole("link", { name: "tester", exact: true }).click();
    await page.getByRole("button", { name: "Remove the filter Caller tester" }).waitFor();
    await page.getByLabel("Result").selectOption("failed");
    await page.getByText("No request matches these filters.").waitFor();
    await page.getByLabel("Result").selectOption("succeeded");
    await page.locator("tbody a.mono").click();

    const panel = page.getByRole("complementary");
    await panel.getByText("1 × 0.03 × 1 = 0.03").waitFor();
    await panel.getByText("0.03 was held").waitFor();
    await panel.getByText("Attempt 1: channel ark, key 1").waitFor();
    const id = records[0]?.id ?? "";
    expect(new URL(page.url()).searchParams.get("request")).toBe(id);
    await page.goBack();
    await panel.waitFor({ state: "detached" });
    await page.getByRole("searchbox").fill(id);
    await page.keyboard.press("Enter");
    await panel.getByText("1 × 0.03 × 1 = 0.03").waitFor();
    expect(complaints).toEqual([]);
  });

  it("reads further pages, and exports what the filters select", async () => {
    const { page, gateway, complaints } = await open({ path: "/prices" });
    for (let made = 0; made < 51; made++) await makeImage(gateway);

    await page.getByRole("link", { name: "Usage" }).click();
    await page.getByRole("button", { name: "More" }).click();
    await expect.poll(() => page.locator("tbody a.mono").count()).toBe(51);
    const downloading = page.waitForEvent("download");
    await page.getByRole("link", { name: "Export as CSV" }).click();
    const path = await (await downloading).path();

    expect(readFileSync(path, "utf8").trimEnd().split("\r\n")).toHaveLength(52);
    expect(complaints).toEqual([]);
  });

  it("says that the ledger keeps no totals", async () => {
    const { history: _history, ...ledger }: Ledger & { history?: unknown } = createMemoryLedger();
    const { page, complaints } = await open({ path: "/usage", gateway: { ledger } });

    await page.getByText("This gateway's ledger keeps no totals").waitFor();
    expect(complaints).toEqual([]);
  });

  it("shows attempts with their cooldown, and the values of the chart by keyboard", async () => {
    const { page, complaints } = await open({
      path: `/usage?period=24h&request=${SHOWN_ID}`,
      gateway: { ledger: await fillLedger(Date.now()) },
    });
    const panel = page.getByRole("complementary");
    const chart = page.getByRole("slider");

    await panel.getByText("RateLimited · 429 after 0.1s").waitFor();
    await panel.getByText("It began a cooldown until").waitFor();
    await panel.getByRole("button", { name: "Close" }).click();
    await chart.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");

    expect(await chart.getAttribute("aria-valuenow")).toBe("1");
    expect(await page.locator(".chart-value").textContent()).toBe(await chart.getAttribute("aria-valuetext"));
    expect(complaints).toEqual([]);
  });
});

/** Makes one image through the gateway. */
async function makeImage(gateway: Gateway): Promise<void> {
  const response = await gateway.fetch(
    new Request("http://localhost/ai/v1/images/generations", {
      method: "POST",
      headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: SEEDREAM, prompt: "a fox" }),
    }),
  );
  expect(response.status).toBe(200);
  await response.arrayBuffer();
}
