import type { Locator } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { SEEDREAM } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { fillLedger, SHOWN_ID } from "./fill-ledger.js";
import { findAxeProblems } from "./find-problems.js";
import { openStudioPage, type StudioPage, type StudioPageOptions } from "./open-page.js";
import { shoot } from "./shoot.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

describe.runIf(opened !== undefined)("the frame of the studio in Chromium", () => {
  const providers = useProviders({ images: "tiny" });
  const open = async (options?: StudioPageOptions): Promise<StudioPage> => {
    if (opened === undefined) throw new Error("The browser is not open.");
    return openStudioPage(opened, providers(), options);
  };

  describe("the palette", () => {
    it("finds a request by its id, opens it, and Escape leads back to the view", async () => {
      const { page, complaints } = await open({
        path: "/channels",
        gateway: { ledger: await fillLedger(Date.now()) },
      });
      await page.getByRole("link", { name: "ark", exact: true }).waitFor();

      await page.keyboard.press("Control+k");
      const field = page.getByRole("combobox", {
        name: "Find a request by its id, a caller, a model, a page or an action",
      });
      await expect.poll(() => isFocused(field)).toBe(true);
      await page.keyboard.type(SHOWN_ID);
      const option = page.getByRole("option", { name: SHOWN_ID });
      await option.waitFor();
      expect(await field.getAttribute("aria-activedescendant")).toBe(await option.getAttribute("id"));
      await shoot(page, "palette-request");
      await page.keyboard.press("Enter");

      const panel = page.getByRole("complementary", { name: `Request ${SHOWN_ID}` });
      await panel.getByRole("row", { name: "Images 1 0.03 0.03" }).waitFor();
      expect(new URL(page.url()).searchParams.get("request")).toBe(SHOWN_ID);
      await expect.poll(() => isFocused(panel.getByRole("heading", { level: 2 }))).toBe(true);
      await page.keyboard.press("Escape");
      await panel.waitFor({ state: "detached" });
      expect(await isFocused(page.locator("main"))).toBe(true);
      expect(complaints).toEqual([]);
    });

    it("finds callers, models and pages by a part of their names, with the arrow keys", async () => {
      const { page, gateway } = await open({ path: "/channels", studio: { caller: "tester" } });
      await gateway.callers.create({ id: "web-shop" });

      await page.getByRole("button", { name: "Search" }).click();
      await page.locator("[role=combobox]:focus").waitFor();
      await page.keyboard.type("SHOP");
      await page.getByRole("option", { name: "web-shop" }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("complementary", { name: "Details of web-shop" }).waitFor();
      await page.keyboard.press("Meta+k");
      await page.locator("[role=combobox]:focus").waitFor();
      await page.keyboard.type(SEEDREAM);
      await expect.poll(() => page.getByRole("option").count()).toBe(2);
      await page.keyboard.press("Enter");
      await expect.poll(() => page.getByLabel("Model", { exact: true }).inputValue()).toBe(SEEDREAM);
      await page.keyboard.press("Control+k");
      await page.locator("[role=combobox]:focus").waitFor();
      const prices = page.getByRole("option", { name: "Prices" });
      await prices.waitFor();
      for (let step = 0; step < 8 && (await prices.getAttribute("data-highlighted")) === null; step++) {
        await page.keyboard.press("ArrowDown");
      }
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Prices", level: 1 }).waitFor();
      expect(await isFocused(page.locator("main"))).toBe(true);
    });

    it("says that nothing was found, and gives the focus back", async () => {
      const { page, complaints } = await open({ path: "/channels" });
      const button = page.getByRole("button", { name: "Search" });

      await button.focus();
      await page.keyboard.press("Enter");
      await page.locator("[role=combobox]:focus").waitFor();
      await page.keyboard.type("nothing-has-this-name");
      await page.getByText("Nothing was found.").waitFor();
      expect(await findAxeProblems(page)).toEqual([]);
      await page.keyboard.press("Escape");

      await page.getByRole("dialog").waitFor({ state: "detached" });
      await expect.poll(() => isFocused(button)).toBe(true);
      expect(complaints).toEqual([]);
    });
  });

  it("Escape closes a dialog before the panel below it, and focus returns to where it was", async () => {
    const { page, gateway, complaints } = await open({ path: "/callers" });
    await gateway.callers.create({ id: "web-shop" });
    await page.reload();
    const link = page.getByRole("link", { name: "web-shop" });

    await link.focus();
    await page.keyboard.press("Enter");
    const panel = page.getByRole("complementary");
    await expect.poll(() => isFocused(panel.getByRole("heading", { level: 2 }))).toBe(true);
    const button = panel.getByRole("button", { name: "Revoke" });
    await button.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Revoke web-shop?" });
    await dialog.and(page.locator(":focus-within")).waitFor();
    await page.keyboard.press("Control+k");
    expect(await page.getByRole("dialog").count()).toBe(1);

    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => isFocused(button)).toBe(true);
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await expect.poll(() => isFocused(link)).toBe(true);
    expect(complaints).toEqual([]);
  });
});

async function isFocused(element: Locator): Promise<boolean> {
  return (await element.and(element.page().locator(":focus")).count()) === 1;
}
