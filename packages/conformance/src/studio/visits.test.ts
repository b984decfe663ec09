import { afterAll, describe, expect, it } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { measureSlowness } from "../support/measure-slowness.js";
import { CALLER_KEY, SEEDREAM } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { fillLedger, SHOWN_ID } from "./fill-ledger.js";
import { findAxeProblems } from "./find-problems.js";
import { openStudioPage, type StudioPage, type StudioPageOptions } from "./open-page.js";
import { shoot } from "./shoot.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

/** The callers of the filled ledger. One is close to its budget, one has used it up. */
const CALLERS = [
  { id: "tester", key: CALLER_KEY },
  { id: "web-shop", key: "visit-key-1", budget: "3.9" },
  { id: "design-team", key: "visit-key-2", budget: "2.34" },
  { id: "a-caller-with-a-rather-long-name-2026", key: "visit-key-3", budget: "100" },
];

// The four visits for which the studio was made. Times are those of a machine that runs other tests too.
describe.runIf(opened !== undefined)("a visit to the studio", () => {
  const providers = useProviders({ images: "tiny" });
  const open = async (options: StudioPageOptions = {}): Promise<StudioPage> => {
    if (opened === undefined) throw new Error("The browser is not open.");
    return openStudioPage(opened, providers(), {
      path: "",
      studio: { caller: "tester" },
      ...options,
      gateway: { ledger: await fillLedger(Date.now()), callers: CALLERS, ...options.gateway },
    });
  };

  it("of an operator in the morning: health, yesterday's spend and budgets, without a click, in five seconds", async () => {
    const { page, gateway, complaints } = await open();
    const asked = new Request("http://localhost/ai/v1/images/generations", {
      method: "POST",
      headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
      body: JSON.stringify({ model: SEEDREAM, prompt: "a fox" }),
    });
    const sent = await gateway.fetch(asked, { caller: () => ({ id: "ann", budget: "0.04" }) });
    expect(sent.status).toBe(200);
    providers().emulator.faults.add({ status: 401, times: 1 });
    await gateway.probeChannel("ark");

    const startedAt = performance.now();
    await page.reload();
    const overview = page.locator(".overview");
    await overview.getByText("1 of 2 channels ready").waitFor();
    await overview.getByText("ark: Cooling down").waitFor();
    await overview.getByText("2 callers are at 80% or more").waitFor();
    await overview.getByText(/^design-team 100%, web-shop 9\d%, user:ann 75%$/).waitFor();
    await overview.locator(".spent", { hasText: /^0\.\d+$/ }).waitFor();
    const took = performance.now() - startedAt;

    expect(took).toBeLessThan(5_000 * measureSlowness());
    await page.locator(".chart").waitFor();
    await shoot(page, "visit-morning");
    expect(await findAxeProblems(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("of an operator during an outage: two clicks lead from the first screen to the history of a failed request", async () => {
    const { page } = await open();

    await page.getByLabel("Result").selectOption("failed");
    await page.locator("tbody a.mono").first().click();

    const panel = page.getByRole("complementary");
    await panel.getByText("Attempt 2: channel ark-2, key 2").waitFor();
    await panel.getByText(/InternalError · 502 after/).waitFor();
    await expect.poll(() => panel.getByText(/upstream_error/).count()).toBeGreaterThan(0);
  });

  it("of a developer: the first image within ten seconds, with its price before and its charge after", async () => {
    const { page } = await open();

    const startedAt = performance.now();
    await page.getByRole("link", { name: "Try" }).first().click();
    await page.getByLabel("Prompt").fill("a fox");
    await page.getByText("at most 0.03").waitFor();
    await page.keyboard.press("Control+Enter");
    await page.getByAltText("Image 1: a fox").waitFor();
    expect(performance.now() - startedAt).toBeLessThan(10_000 * measureSlowness());
    await page.getByText("Charge 0.03").waitFor();
  });

  it("of a person who answers a customer: a pasted request id leads to the derivation of its charge", async () => {
    const { page } = await open();
    await page.locator(".chart").waitFor();

    await page.keyboard.press("Control+k");
    await page
      .getByRole("combobox", { name: "Find a request by its id, a caller, a model, a page or an action" })
      .fill(SHOWN_ID);
    await page.getByRole("option", { name: SHOWN_ID }).waitFor();
    await page.keyboard.press("Enter");

    const panel = page.getByRole("complementary");
    await expect.poll(() => panel.getByRole("row", { name: "Images 1 0.03 0.03" }).count()).toBe(1);
  });
});
