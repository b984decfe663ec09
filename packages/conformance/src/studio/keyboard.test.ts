import type { Locator, Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { SEEDREAM } from "../support/test-gateway.js";
import { isFull } from "../support/test-run.js";
import { useProviders } from "../support/use-providers.js";
import { fillLedger, SHOWN_ID } from "./fill-ledger.js";
import { measureOverflow } from "./find-problems.js";
import { openStudioPage, type StudioPage, type StudioPageOptions } from "./open-page.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

/** Views, and what they show when they are ready. */
const VIEWS = [
  ["/try", "textarea"],
  [`/usage?period=30d&caller=web-shop`, ".chart"],
  [`/usage?request=${SHOWN_ID}`, "aside .timeline"],
  ["/channels?channel=ark", "aside section"],
  ["/callers?caller=tester", "aside dl"],
  ["/prices", "tbody"],
] as const;

/** Windows: usual, narrow, and those of a person who has zoomed to 200 % and 400 %. */
const WINDOWS = [
  [1280, 740],
  [360, 740],
  [640, 370],
  [320, 256],
] as const;

describe.runIf(opened !== undefined)("the studio by keyboard, in Chromium", { timeout: 120_000 }, () => {
  const providers = useProviders({ images: "tiny", millisecondsPerImage: 20 });
  const open = async (options: StudioPageOptions = {}): Promise<StudioPage> => {
    if (opened === undefined) throw new Error("The browser is not open.");
    return openStudioPage(opened, providers(), {
      studio: { caller: "tester" },
      ...options,
      gateway: { ledger: await fillLedger(Date.now()), ...options.gateway },
    });
  };

  it.each(VIEWS)("Tab reaches each control of %s, and shows where the focus is", async (path, ready) => {
    const { page, origin } = await open({ path });
    const problems: string[] = [];

    for (const [width, height] of isFull() ? WINDOWS : WINDOWS.slice(0, 2)) {
      await page.setViewportSize({ width, height });
      await page.goto(`${origin}/studio${path}`);
      await page.locator(ready).first().waitFor();
      for (const problem of await walk(page)) problems.push(`${width} × ${height}: ${problem}`);
      const overflow = await measureOverflow(page);
      if (overflow > 0) problems.push(`${width} × ${height}: ${overflow} pixels too wide`);
    }

    expect(problems).toEqual([]);
  });

  it("makes images and stops without losing the focus, and says what happens", async () => {
    const { page, complaints } = await open({ path: "/try" });
    providers().emulator.faults.add({ latencyMs: 1_000, times: 2 });

    await page.locator("textarea:focus").waitFor();
    await page.keyboard.type("a fox");
    await page.getByText("at most 0.03").waitFor();
    const button = page.getByRole("button", { name: "Make images" });
    for (let step = 0; step < 20 && !(await isFocused(button)); step++) await page.keyboard.press("Tab");
    await page.keyboard.down("Enter");
    // The key repeats while it is held.
    for (let times = 0; times < 4; times++) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await page.getByText("waiting for the provider").waitFor();
    expect(await isFocused(page.getByRole("button", { name: "Stop" }))).toBe(true);
    await page.getByRole("status").filter({ hasText: "Charge 0.03" }).waitFor();
    expect(await isFocused(button)).toBe(true);
    expect(providers().emulator.requests).toHaveLength(1);

    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await page.keyboard.press("Enter");
    await button.waitFor();
    expect(await isFocused(button)).toBe(true);
    expect(complaints).toEqual([]);
  });

  it("the focus stays near when what had it goes away", async () => {
    const { page, gateway, complaints } = await open({
      path: "/usage?period=30d&caller=web-shop&outcomes=failed",
      gateway: {},
    });
    await gateway.callers.create({ id: "late" });
    const main = page.locator("main");

    await page.getByRole("button", { name: "Remove the filter Caller web-shop" }).press("Enter");
    const last = page.getByRole("button", { name: "Remove the filter Result Failed" });
    await expect.poll(() => isFocused(last)).toBe(true);
    await page.keyboard.press("Enter");
    await last.waitFor({ state: "detached" });
    expect(await isFocused(main)).toBe(true);

    const more = page.getByRole("button", { name: "More" });
    await more.focus();
    await page.keyboard.press("Enter");
    await page.getByText("100 requests are shown.").waitFor({ state: "attached" });
    expect(await isFocused(more)).toBe(true);
    await page.keyboard.press("Enter");
    await more.waitFor({ state: "detached" });
    expect(await isFocused(page.getByRole("group", { name: "Requests" }))).toBe(true);

    await page.route("**/api/prices", (route) => route.abort());
    await page.getByRole("link", { name: "Prices" }).press("Enter");
    await page.getByRole("alert").waitFor();
    await page.unroute("**/api/prices");
    await page.getByRole("button", { name: "Try again" }).press("Enter");
    await page.getByRole("heading", { name: "Calculator" }).waitFor();
    expect(await isFocused(main)).toBe(true);

    await page.goto(page.url().replace("/prices", "/callers?caller=late"));
    await page.getByRole("button", { name: "Revoke" }).press("Enter");
    const dialog = page.getByRole("dialog");
    await expect.poll(() => isFocused(dialog.getByRole("button", { name: "Cancel" }))).toBe(true);
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await page.getByText("late was revoked.").waitFor({ state: "attached" });
    await expect.poll(() => page.evaluate("document.activeElement.tagName")).not.toBe("BODY");
    await expect.poll(() => isFocused(page.locator("aside h2"))).toBe(true);
    expect(complaints).toEqual([]);
  });

  it("a wrong field of a form gets the focus, and a failed action keeps it", async () => {
    const { page, complaints } = await open({ path: "/callers" });
    await page.getByRole("button", { name: "Create a caller" }).press("Enter");
    const dialog = page.getByRole("dialog");
    await expect.poll(() => isFocused(dialog.getByLabel("Id"))).toBe(true);
    // Tab stays in the dialog.
    for (let step = 0; step < 30; step++) {
      await page.keyboard.press("Tab");
      // At its ends the dialog moves the focus in a second step.
      await expect.poll(() => page.locator(".shell :focus, body:focus").count()).toBe(0);
    }
    await expect.poll(() => dialog.locator(":focus").count()).toBe(1);
    await dialog.getByLabel("Id").focus();
    await page.keyboard.type("web shop");
    await dialog.getByLabel("Amount").fill("a lot");
    await page.keyboard.press("Enter");
    await dialog.getByRole("alert").waitFor();
    await expect.poll(() => isFocused(dialog.getByLabel("Amount"))).toBe(true);
    await dialog.getByLabel("Amount").fill("");
    await page.route("**/api/callers", (route) => route.abort());
    const create = dialog.getByRole("button", { name: "Create a caller" });
    await create.press("Enter");
    await dialog.getByRole("alert").waitFor();
    expect(await isFocused(create)).toBe(true);
    await page.unroute("**/api/callers");
    await page.keyboard.press("Enter");
    await page.locator("code.key").waitFor();
    await expect.poll(() => isFocused(page.getByRole("button", { name: /^Copy/ }))).toBe(true);
    await page.getByRole("button", { name: "I have copied it" }).press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => page.evaluate("document.activeElement.tagName")).not.toBe("BODY");
    expect(complaints).toEqual([]);
  });

  it("pauses, resumes and probes a channel", async () => {
    const { page, complaints } = await open({ path: "/channels" });
    const row = page.getByRole("row").filter({ has: page.getByRole("link", { name: "ark", exact: true }) });

    await row.getByRole("button", { name: "Pause ark" }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).press("Enter");
    await page.getByText("ark is paused.").waitFor({ state: "attached" });
    const resume = row.getByRole("button", { name: "Resume ark" });
    await expect.poll(() => isFocused(resume)).toBe(true);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Resume" }).press("Enter");
    await page.getByText("ark is no longer paused.").waitFor({ state: "attached" });
    await expect.poll(() => isFocused(row.getByRole("button", { name: "Pause ark" }))).toBe(true);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    const start = page.getByRole("dialog").getByRole("button", { name: "Request 1 image" });
    await start.press("Enter");
    await page.getByRole("dialog").getByText("Works").waitFor();
    expect(
      await page.evaluate("document.querySelector('[role=dialog]').contains(document.activeElement)"),
    ).toBe(true);
    await page.keyboard.press("Escape");
    await expect.poll(() => isFocused(row.getByRole("button", { name: "Probe ark" }))).toBe(true);
    expect(complaints).toEqual([]);
  });

  it("a key can be entered, and forgotten", async () => {
    const { page } = await open({ path: "/try", studio: {} });
    await page.getByLabel("API key").fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("The API key is wrong, or was revoked.").waitFor();
    expect(await page.evaluate("document.activeElement.tagName")).not.toBe("BODY");
    await page.getByRole("button", { name: "Remove key" }).press("Enter");
    await page.getByText("Try needs someone who pays.").waitFor();
    expect(await page.evaluate("document.activeElement.tagName")).not.toBe("BODY");
  });

  it("a panel that covers the page closes when the focus goes below it", async () => {
    const { page } = await open({
      path: "/callers?caller=tester",
      context: { viewport: { width: 360, height: 740 } },
    });
    const panel = page.getByRole("complementary");
    await expect.poll(() => isFocused(panel.getByRole("heading", { level: 2 }))).toBe(true);
    await page.keyboard.press("Shift+Tab");
    await panel.waitFor({ state: "detached" });
    expect(await isFocused(page.locator("main"))).toBe(false);
    expect(await page.evaluate("document.activeElement.tagName")).not.toBe("BODY");
  });

  it("says which view was opened, and links the names of fields and problems", async () => {
    const { page } = await open({ path: "/usage" });
    await page.getByRole("link", { name: "Prices" }).press("Enter");
    await page.locator(".announcer", { hasText: "Prices" }).waitFor({ state: "attached" });
    expect(await isFocused(page.getByRole("link", { name: "Prices" }))).toBe(true);
    await page.getByLabel("Model", { exact: true }).selectOption(SEEDREAM);
    const images = page.getByLabel("Images", { exact: true });
    await images.fill("many");
    await page.keyboard.press("Enter");
    await expect.poll(() => images.getAttribute("aria-invalid")).toBe("true");
    expect(await isFocused(images)).toBe(true);
    await images.fill("2");
    await page.keyboard.press("Enter");
    await page.getByRole("status").filter({ hasText: "Costs 0.06" }).waitFor();
  });

  it("moves nothing if the system asks for no motion", async () => {
    const { page } = await open({ path: "/callers", context: { reducedMotion: "reduce" } });
    await page.getByRole("link", { name: "tester" }).click();
    await page.getByRole("complementary").waitFor();
    expect(await page.evaluate("document.getAnimations().length")).toBe(0);
  });
});

async function isFocused(element: Locator): Promise<boolean> {
  return (await element.and(element.page().locator(":focus")).count()) === 1;
}

/**
 * Presses Tab from the beginning of the page to its end, or from the beginning of a panel: it closes when the focus goes below
 * it. Returns what cannot be reached or seen.
 */
async function walk(page: Page): Promise<readonly string[]> {
  await page.evaluate(`(() => {
    const heading = document.querySelector(".panel h2");
    window.root = heading?.closest(".panel") ?? document;
    window.reached = new Set();
    (heading ?? document.querySelector(".skip")).focus();
  })()`);
  const problems: string[] = [];
  for (let step = 0; step < 200; step++) {
    const found = await page.evaluate<string | null>(LOOK);
    if (found === "end") {
      const missed = await page.evaluate<readonly string[]>(MISSED);
      return [...problems, ...missed.map((element) => `not reached: ${element}`)];
    }
    if (found !== null) problems.push(found);
    await page.keyboard.press("Tab");
  }
  return [...problems, "Tab never ends"];
}

/** What is wrong with the element that has the focus. `"end"`: it is the first one again, or none. */
const LOOK = `(() => {
  const element = document.activeElement;
  if (element === document.body || window.reached.has(element) || !window.root.contains(element)) return "end";
  window.reached.add(element);
  if (element.tabIndex < 0) return null;
  const name = element.outerHTML.slice(0, 120);
  const { outlineStyle } = getComputedStyle(element);
  if (outlineStyle === "none") return "no mark of the focus: " + name;
  const box = element.getBoundingClientRect();
  const [left, right] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)];
  const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
  if (right <= left || bottom <= top) return "outside of the window: " + name;
  const points = [0.1, 0.5, 0.9].flatMap((x) => [0.1, 0.5, 0.9].map((y) =>
    document.elementFromPoint(left + (right - left) * x, top + (bottom - top) * y)));
  const isSeen = points.some((at) => at !== null && (element.contains(at) || at.contains(element)));
  return isSeen ? null : "covered: " + name;
})()`;

const MISSED = `(() => [...window.root.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
  .filter((element) => element.tabIndex >= 0 && element.checkVisibility() && !window.reached.has(element))
  .map((element) => element.outerHTML.slice(0, 120)))()`;
