import { afterAll, describe, expect, it, vi } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { SEEDREAM } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { openStudioPage, type StudioPage, type StudioPageOptions } from "./open-page.js";
import { shoot } from "./shoot.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

describe.runIf(opened !== undefined)("Callers in Chromium", () => {
  const providers = useProviders({ images: "tiny", millisecondsPerImage: 20 });
  const open = async (options?: StudioPageOptions): Promise<StudioPage> => {
    if (opened === undefined) throw new Error("The browser is not open.");
    return openStudioPage(opened, providers(), { path: "/callers", ...options });
  };

  it("creates one, shows the key once, uses it, and changes, rotates and revokes it", async () => {
    const { page, gateway, complaints } = await open();

    await page.getByRole("button", { name: "Create a caller" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Amount").fill("a lot");
    await dialog.getByLabel("Id").fill("web shop");
    await dialog.getByRole("button", { name: "Create a caller" }).click();
    await dialog.locator(".problem", { hasText: "budget" }).waitFor();
    await dialog.getByLabel("Amount").fill("0.035");
    await dialog.getByLabel("Concurrent requests").fill("four");
    await dialog.getByRole("button", { name: "Create a caller" }).click();
    await dialog.locator(".problem", { hasText: "limits.concurrent" }).waitFor();
    await dialog.getByLabel("Concurrent requests").fill("4");
    await dialog.getByLabel("Requests per minute").fill("2");
    await dialog.getByRole("button", { name: "Create a caller" }).click();
    const key = await page.locator("code.key").textContent();
    expect(key).toMatch(/^cal-/);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    expect(await page.locator("code.key").textContent()).toBe(key);
    await shoot(page, "callers-key");

    await page.getByRole("button", { name: "Use it in Try" }).click();
    await page.getByText("An API key pays.").waitFor();
    await page.getByLabel("Model", { exact: true }).selectOption(SEEDREAM);
    await page.getByLabel("Prompt").fill("a fox");
    await page.getByRole("button", { name: "Make images" }).click();
    await page.getByText("Charge 0.03").waitFor();

    await page.getByRole("link", { name: "Callers" }).click();
    expect(await page.content()).not.toContain(key);
    const row = page.getByRole("row", { name: /web shop/ });
    await row.getByText("85% used").waitFor();
    await row.getByText("1 of 2 requests this minute").waitFor();
    await page.getByText("1 with 80% or more used").waitFor();
    await page.getByRole("link", { name: "web shop" }).click();
    const panel = page.getByRole("complementary", { name: "Details of web shop" });
    await panel.getByText("0.005 of 0.035 per month").waitFor();
    await panel.getByText("0 of 4 at once").waitFor();
    await panel.getByText(/free again in \d+ s/).waitFor();
    await shoot(page, "callers-panel-used");

    await panel.getByRole("button", { name: "Change" }).click();
    await page.getByRole("dialog").getByLabel("Concurrent requests").fill("");
    await page.getByRole("dialog").getByLabel("Images per minute").fill("none");
    await page.getByRole("dialog").getByLabel("Amount").fill("0.03");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await expect
      .poll(() => gateway.callers.find("web shop"))
      .toMatchObject({ budget: { amount: "0.03" }, limits: { requestsPerMinute: 2, imagesPerMinute: null } });
    expect((await gateway.callers.find("web shop"))?.limits).not.toHaveProperty("concurrent");
    await row.getByText("nothing left").waitFor();
    await panel.getByText("4 → not set").waitFor();

    await panel.getByRole("button", { name: "New key" }).click();
    await page.getByText("Both keys work until the old ones end.").waitFor();
    await page.getByRole("button", { name: "Create the key" }).click();
    await expect.poll(() => page.locator("code.key").textContent()).not.toBe(key);
    await page.getByRole("button", { name: "I have copied it" }).click();
    await panel.getByText(/^ends /).waitFor();
    await shoot(page, "callers-panel");
    await panel.getByRole("button", { name: "Revoke" }).click();
    await page.getByText("Requests in progress run to their end and are charged.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await panel.getByRole("button", { name: "Revoke" }).waitFor({ state: "detached" });
    expect(await gateway.callers.find("web shop")).toMatchObject({ state: "revoked" });
    expect(complaints).toEqual([]);
  });

  it("has the end of a caller in the person's time zone, and keeps what others change while the form is open", async () => {
    const { page, gateway, complaints } = await open({
      path: "/try",
      context: { timezoneId: "Asia/Shanghai" },
    });
    await gateway.callers.create({ id: "late", expiresAt: "2031-03-01T10:00:00-05:00", budget: "5" });
    await page.clock.install();
    await page.getByRole("link", { name: "Callers" }).click();
    await page.getByRole("link", { name: "late" }).click();
    const panel = page.getByRole("complementary");
    await panel.getByText("Mar 1, 2031, 11:00:00 PM").waitFor();

    await panel.getByRole("button", { name: "Change" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByLabel("Expires").inputValue()).toBe("2031-03-01T23:00");
    await gateway.callers.change("late", { models: [SEEDREAM] });
    // The panel reads the caller again.
    await page.clock.fastForward(11_000);
    await page.locator(".facts dd", { hasText: SEEDREAM }).waitFor();
    await dialog.getByLabel("Amount").fill("6");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    const models = [SEEDREAM];
    const budget = "6";
    expect(await gateway.callers.find("late")).toMatchObject({
      models,
      budget,
      expiresAt: "2031-03-01T10:00:00-05:00",
    });

    await panel.getByRole("button", { name: "Change" }).click();
    await dialog.getByLabel("Expires").fill("2031-03-02T08:30");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    const expiresAt = "2031-03-02T00:30:00.000Z";
    expect(await gateway.callers.find("late")).toMatchObject({ models, budget, expiresAt });
    expect(complaints).toEqual([]);
  });

  it("finds a caller among ten thousand, by page, search, group and sort, which the address keeps", async () => {
    const { page, gateway, complaints } = await open({
      gateway: {
        callers: [],
        billing: {
          model_details: { "*": { pricing_mode: "per-request", model_price: "0.03" } },
          group_ratio: { default: "1", vip: "0.5" },
        },
      },
    });
    await Promise.all(
      Array.from({ length: 10_000 }, (_, index) =>
        gateway.callers.create({
          id: `customer-${String(index).padStart(5, "0")}`,
          group: index % 10 === 0 ? "vip" : "default",
          budget: { amount: "5", period: "month" },
        }),
      ),
    );
    await page.reload();
    await page.getByText("10,000 callers.").waitFor();
    await page.getByText("Page 1 of 200 · 10,000 callers").waitFor();
    await shoot(page, "callers-many");
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("link", { name: "customer-00050" }).click();
    await page.getByRole("complementary", { name: "Details of customer-00050" }).waitFor();
    await page.getByText("Page 2 of 200").waitFor();
    const began = Date.now();
    await page.getByLabel("Filter by id or group").fill("R-0777");
    await page
      .getByText("10 callers", { exact: false })
      .or(page.getByRole("link", { name: "customer-07779" }))
      .first()
      .waitFor();
    await page.getByRole("link", { name: "customer-07779" }).waitFor();
    expect(Date.now() - began).toBeLessThan(5_000);
    await page.getByLabel("Group", { exact: true }).selectOption("vip");
    await expect.poll(() => page.getByRole("row").count()).toBe(2);
    await expect.poll(() => page.url()).toContain("q=R-0777&group=vip&caller=customer-00050");
    await page.reload();
    await expect.poll(() => page.getByRole("row").count()).toBe(2);
    expect(await page.getByLabel("Filter by id or group").inputValue()).toBe("R-0777");
    await page.goBack();
    await expect.poll(() => page.getByRole("row").count()).toBe(11);
    await page.getByLabel("Filter by id or group").fill("nobody");
    await page.getByText("No caller matches.").waitFor();
    expect(complaints).toEqual([]);
  });

  it("says what is missing if the ledger keeps no callers, and if there is none", async () => {
    const { page } = await open({ gateway: { callers: [] } });
    await page.getByText("No caller yet.").waitFor();
    await page.getByText("A caller holds an API key").waitFor();
    expect(await page.getByRole("button", { name: "Create a caller" }).count()).toBe(1);
    await shoot(page, "callers-empty");
  });

  it("lists signed-in users, whose budgets come from the app", async () => {
    const { page, gateway, complaints } = await open();
    const request = new Request("http://localhost/ai/v1/images/generations", {
      method: "POST",
      headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
      body: JSON.stringify({ model: SEEDREAM, prompt: "a fox" }),
    });
    await gateway.fetch(request, {
      caller: () => ({ id: "ann", budget: { amount: "0.033", period: "day" } }),
    });
    await page.reload();

    const row = page.getByRole("row", { name: /user:ann/ });
    await row.getByText("90% used").waitFor();
    await row.getByText("Signed-in user").waitFor();
    await row.getByRole("link").click();
    const panel = page.getByRole("complementary", { name: "Details of user:ann" });
    await panel.getByText("0.003 of 0.033 per day").waitFor();
    await panel.getByText("The function caller of your app gives the budget.").waitFor();
    expect(await panel.getByRole("button").allTextContents()).toEqual(["Close"]);
    await shoot(page, "callers-user");
    expect(complaints).toEqual([]);
  });

  it("says that the list cannot be read, and tries again", async () => {
    const { page, gateway } = await open({ path: "/channels" });
    await page.getByRole("link", { name: "ark", exact: true }).waitFor();
    const list = vi.spyOn(gateway.callers, "list").mockRejectedValue(new Error("database-canary"));
    await page.getByRole("link", { name: "Callers" }).click();
    await page.getByRole("alert").waitFor();
    expect(await page.content()).not.toContain("database-canary");
    await shoot(page, "callers-failing");
    list.mockRestore();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("link", { name: "tester" }).waitFor();
  });

  it("opens the one in the address, and goes back and forward", async () => {
    const { page, gateway } = await open({ path: "/callers" });
    await gateway.callers.create({ id: "late" });

    await page.reload();
    await page.getByRole("link", { name: "late" }).click();
    await page.getByRole("complementary", { name: "Details of late" }).waitFor();
    await page.goBack();
    await page.getByRole("complementary").waitFor({ state: "detached" });
    await page.goForward();
    await page.getByRole("complementary", { name: "Details of late" }).waitFor();
    await page.keyboard.press("Tab");
    await page.getByRole("link", { name: "Channels" }).click();
    await expect.poll(() => page.title()).toBe("Channels · calotype studio");
  });

  it("lets a viewer look and not change", async () => {
    const { page } = await open({ path: "/callers?caller=tester", studio: { authorize: () => "viewer" } });

    await page.getByText("View only").waitFor();
    await page.getByRole("complementary", { name: "Details of tester" }).waitFor();
    expect(await page.locator("main").getByRole("button").allTextContents()).toEqual(["Close"]);
  });
});
