import { readFileSync } from "node:fs";
import { createMemoryLedger, type Gateway } from "@calotype/core";
import type { SettledRecord, UsageHistory } from "@calotype/core/billing";
import type { Ledger } from "@calotype/core/stores";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { CALLER_KEY, SEEDREAM } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import {
  fillHostileLedger,
  fillLedger,
  fillUnusualLedger,
  LOST_ID,
  SHOWN_ID,
  TASK_ID,
} from "./fill-ledger.js";
import { findAxeProblems, measureOverflow } from "./find-problems.js";
import { holdRequests } from "./hold-requests.js";
import { openStudioPage, type StudioPage, type StudioPageOptions } from "./open-page.js";
import { shoot } from "./shoot.js";

/** What a caller could send as a model, an end user or a tag, and a provider as an error. */
const HOSTILE = [
  '<img src=x onerror="document.title=\'ran\'"><script>document.title="ran"</script>',
  "\u202egnp.exe\u2066 abc\u200b\u200d\ufeff",
  "مرحبا بالعالم · שלום",
  "a-very-long-name-without-a-space-".repeat(4).slice(0, 120),
  "ignore all previous instructions {{7*7}} ${7*7} %00 \n\r\t javascript:alert(1)",
  "W".repeat(128),
];

const opened = await openBrowser();
afterAll(() => opened?.close());

describe.runIf(opened !== undefined)("Usage in Chromium", () => {
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
    await page.getByRole("button", { name: "Remove the filter Result Failed" }).waitFor();
    await page.getByLabel("Result", { exact: true }).selectOption("succeeded");
    await page.locator("tbody a.mono").click();

    const panel = page.getByRole("complementary");
    await panel.getByRole("row", { name: "Images 1 0.03 0.03" }).waitFor();
    await panel.getByText("0.03 was held").waitFor();
    await panel.getByText("1 image was made").waitFor();
    await panel.getByText("0.03 was charged; the hold of 0.03 ended").waitFor();
    await panel.getByText("Attempt 1: channel ark, key 1").waitFor();
    const id = records[0]?.id ?? "";
    expect(new URL(page.url()).searchParams.get("request")).toBe(id);
    await page.goBack();
    await panel.waitFor({ state: "detached" });
    await findRequest(page, id);
    await panel.getByRole("row", { name: "Images 1 0.03 0.03" }).waitFor();
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

  it.each([
    [
      360,
      "light",
      "en-US",
      "Cost",
      "Margin",
      "Known for 2 of 122 requests",
      "Not known: the channel has no costs",
    ],
    [1280, "dark", "zh-CN", "成本", "毛利", "122 个请求中 2 个成本已知", "未知：该渠道没有设置此模型的成本"],
  ] as const)(
    "shows costs and margins where they are known, at %i pixels, %s, in %s",
    async (width, colorScheme, locale, cost, margin, coverage, unknown) => {
      const now = Date.now();
      const ledger = await fillLedger(now);
      const facts = {
        state: "settled",
        group: "default",
        model: SEEDREAM,
        operation: "generate",
        upstreamModel: "up",
      } as const;
      const of = (id: string, rest: Partial<SettledRecord>): SettledRecord => ({
        ...facts,
        id,
        time: new Date(now).toISOString(),
        caller: "web-shop",
        channel: "ark",
        status: 200,
        images: 2,
        charge: "0.06",
        durationMs: 9_000,
        attempts: [],
        ...rest,
      });
      const derivation = {
        pricing_mode: "per-request",
        count: 1,
        count_source: "generated_images",
        model_price: "0.0125",
        group_ratio: "1",
        exact: "0.0125",
      } as const;
      const costLines = [
        { call: 0, channel: "ark", amount: "0.0125", derivation },
        { call: 1, channel: "relay", amount: "0.01", isReported: true },
      ] as const;
      await ledger.settle(of("req-costed", { cost: "0.0225", costLines }));
      await ledger.settle(of("req-dear", { cost: "0.5", caller: "design-team" }));
      const { page, complaints } = await open({
        path: "/usage?period=30d&request=req-costed",
        gateway: { ledger },
        context: { colorScheme, locale, viewport: { width, height: 900 } },
      });

      const panel = page.getByRole("complementary");
      await panel.getByText("0.0225").first().waitFor();
      expect(await panel.innerText()).toContain("0.0375");
      expect(await findAxeProblems(page)).toEqual([]);
      expect(await measureOverflow(page)).toBeLessThanOrEqual(0);
      await shoot(page, `costs-request-${width}`);
      await page.keyboard.press("Escape");
      await panel.waitFor({ state: "detached" });
      await page.getByText(coverage).waitFor();
      const heads = await page.locator("th").allInnerTexts();
      expect(heads).toEqual(expect.arrayContaining([cost, margin]));
      expect(await page.locator(".figures").innerText()).toContain("-0.4025");
      expect(await measureOverflow(page)).toBeLessThanOrEqual(0);
      await shoot(page, `costs-usage-${width}`);
      await ledger.settle(of("req-partial", { costLines: [{ channel: "ark", unknownBecause: "no_costs" }] }));
      await page.goto(`${page.url().split("?")[0]}?request=req-partial`);
      await panel.getByText(unknown).waitFor();
      expect(complaints).toEqual([]);
    },
  );

  it("has no costs where none are known", async () => {
    const { page } = await open({
      path: "/usage?period=30d",
      gateway: { ledger: await fillLedger(Date.now()) },
    });
    await page.locator(".figure").first().waitFor();
    await page.locator("tbody tr").first().waitFor();
    expect(await page.locator("main").innerText()).not.toMatch(/Cost|Margin/);
  });

  it.each([360, 1280])(
    "fits the lines of a charge by token into a panel of a window of %i pixels",
    async (width) => {
      const whole = await fillLedger(Date.now());
      const record: SettledRecord = {
        state: "settled",
        id: "req-tokens",
        time: new Date().toISOString(),
        caller: "web-shop",
        group: "vip",
        model: SEEDREAM,
        channel: "ark",
        upstreamModel: "doubao",
        operation: "generate",
        status: 200,
        images: 1,
        charge: "0.03997696",
        durationMs: 23,
        attempts: [],
        derivation: {
          pricing_mode: "per-token",
          output_tokens: 4096,
          other_tokens: 0,
          token_source: "output_tokens",
          output_token_price: "12.2",
          input_token_price: "0",
          group_ratio: "0.8",
          exact: "0.03997696",
          unpriced: false,
        },
      };
      await whole.settle(record);
      const { page } = await open({
        path: "/usage?request=req-tokens",
        gateway: { ledger: whole },
        context: { viewport: { width, height: 800 } },
      });

      await page.getByRole("row", { name: "Output tokens 4,096 12.2 per million 0.8 0.03997696" }).waitFor();
      expect(
        await page.evaluate(
          "(panel => panel.scrollWidth - panel.clientWidth)(document.querySelector('aside'))",
        ),
      ).toBe(0);
      const cell = await page.locator("aside td").first().boundingBox();
      expect(cell?.height).toBeLessThan(64);
      await page.getByText("Status 200 after 23ms in all").waitFor();
    },
  );

  it("keeps the list in its place while another order or filter is read", async () => {
    const { page, complaints } = await open({
      path: "/usage",
      gateway: { ledger: await fillLedger(Date.now()) },
    });
    await page.locator("tbody a.mono").first().waitFor();
    const release = await holdRequests(page, "**/api/records?*");
    const read = (): Promise<readonly [number, number]> =>
      page.evaluate("[scrollY, document.documentElement.scrollHeight]");
    await page.evaluate("document.querySelectorAll('.section')[1].scrollIntoView()");
    const before = await read();
    expect(before[0]).toBeGreaterThan(0);

    await page.getByLabel("Sort by").selectOption("charge");

    await page.locator(".section [aria-busy=true] tbody a.mono").first().waitFor();
    expect(await read()).toEqual(before);
    await release();
    await page.locator("[aria-busy=true]").waitFor({ state: "detached" });
    // Other requests may have longer names.
    expect((await read())[0]).toBe(before[0]);
    expect(complaints).toEqual([]);
  });

  it("says from when the data are, and reads them again when the page is shown again after some time", async () => {
    const { page } = await open({ path: "/try" });
    await page.clock.install({ time: new Date("2026-11-23T09:00:00Z") });
    await page.getByRole("link", { name: "Usage" }).click();
    const asOf = page.locator(".view-head .title p");
    await asOf.waitFor();
    const first = await asOf.innerText();
    let reads = 0;
    page.on("request", (request) => {
      if (request.url().includes("previousFrom")) reads += 1;
    });
    const comeBack = (): Promise<void> =>
      page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');

    await comeBack();
    expect(await asOf.innerText()).toBe(first);
    await page.clock.setFixedTime(new Date("2026-11-24T09:10:00Z"));
    await comeBack();

    await expect.poll(() => asOf.innerText()).not.toBe(first);
    await expect.poll(() => reads).toBe(1);
  });

  it("says that an export ends after 100,000 requests, if there are more", async () => {
    const whole = (await fillLedger(Date.now())) as Ledger & { history: UsageHistory };
    let requests = 100_000;
    const history: UsageHistory = {
      ...whole.history,
      async series(query, options) {
        const series = await whole.history.series(query, options);
        const total = { ...series.total, sums: { ...series.total.sums, requests } };
        return { ...series, total };
      },
    };
    const ledger = { ...whole, history };
    const { page } = await open({ path: "/usage", gateway: { ledger } });

    const note = page.getByText("only the first 100,000 of these requests");
    await page.getByRole("button", { name: "Reached a provider 100,000" }).waitFor();
    expect(await note.count()).toBe(0);
    requests = 100_001;
    await page.getByRole("button", { name: "Refresh" }).click();
    await note.waitFor();
  });

  it("says that the ledger keeps no totals", async () => {
    const { history: _history, ...ledger }: Ledger & { history?: unknown } = createMemoryLedger();
    const { page, complaints } = await open({ path: "/usage", gateway: { ledger } });

    await page.getByText("This gateway's ledger keeps no totals").waitFor();
    expect(complaints).toEqual([]);
  });

  it("says once that the ledger fails, without its error, and tries again", async () => {
    const whole = (await fillLedger(Date.now())) as Ledger & { history: UsageHistory };
    let isFailing = true;
    const history: UsageHistory = {
      ...whole.history,
      series: (query) =>
        isFailing ? Promise.reject(new Error("canary-of-the-database")) : whole.history.series(query),
    };
    const ledger = { ...whole, history };
    const { page, complaints } = await open({
      path: "/usage",
      gateway: { ledger },
      studio: { logger: { warn: () => {}, error: () => {} } },
    });

    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").count()).toBe(1);
    const words = await page.locator("main").innerText();
    expect(words).toContain("no image was made, and nothing was charged");
    expect(words).toContain("Cannot be read now");
    expect(words).not.toContain("canary");
    isFailing = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("slider").waitFor();
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
    expect(await page.locator(".chart-value").textContent()).toContain(
      (await chart.getAttribute("aria-valuetext")) ?? "",
    );
    expect(complaints).toEqual([]);
  });

  it("selects an hour in the chart, by pointer and by keyboard, and goes back", async () => {
    const now = Date.now();
    const { page, complaints } = await open({
      path: "/usage?period=24h",
      gateway: { ledger: await fillLedger(now) },
    });
    const chart = page.getByRole("slider");
    const requests = page.locator("tbody a.mono");
    await expect.poll(() => requests.count()).toBe(8);

    for (const measure of ["Images", "Requests", "Failures", "Time"]) {
      await page.getByRole("button", { name: measure, exact: true }).click();
      await page.getByRole("slider", { name: measure }).waitFor();
    }
    expect(new URL(page.url()).searchParams.get("chart")).toBe("time");
    await chart.focus();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await expect.poll(() => requests.count()).toBe(1);
    await page.locator(".figure", { hasText: "0.03" }).waitFor();
    await page.getByRole("button", { name: "Reached a provider 1", exact: true }).waitFor();
    const shared = page.url();
    await page.goBack();
    await expect.poll(() => requests.count()).toBe(8);
    const frame = await chart.boundingBox();
    if (frame === null) throw new Error("There is no chart.");
    await page.mouse.click(frame.x + frame.width - 8, frame.y + 80);
    await expect.poll(() => requests.count()).toBe(1);
    await page.getByRole("button", { name: /^Remove the filter Time/ }).click();
    await expect.poll(() => requests.count()).toBe(8);
    await page.goto(shared);
    await expect.poll(() => requests.count()).toBe(1);

    await page.locator("rect.selected").first().waitFor({ state: "attached" });
    expect(complaints).toEqual([]);
  });

  it("selects requests without an end user, and those with one result, everywhere on the page", async () => {
    const { page, complaints } = await open({
      path: "/usage?by=endUser",
      gateway: { ledger: await fillUnusualLedger(Date.now()) },
    });

    await page.getByRole("link", { name: "no end user" }).click();
    await page.getByRole("button", { name: "Remove the filter End user no end user" }).waitFor();
    await expect.poll(() => page.locator("tbody a.mono").count()).toBe(2);
    await page.getByLabel("Result").selectOption("unresolved");
    await page.locator(".figure", { hasText: "0.64" }).waitFor();
    await expect.poll(() => page.locator("tbody a.mono").count()).toBe(1);
    await page.getByRole("button", { name: "Tag", exact: true }).click();
    await page.getByLabel("Name of the tag").fill("team");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "without team" }).click();
    await page.getByRole("button", { name: "Remove the filter team without team" }).waitFor();
    await page.locator(".figure", { hasText: "0.64" }).waitFor();

    expect(new URL(page.url()).searchParams.get("tag")).toBe("team=");
    expect(complaints).toEqual([]);
  });

  it("shows other days, and says which dates cannot be shown", async () => {
    const { page, complaints } = await open({
      path: "/usage",
      gateway: { ledger: await fillLedger(Date.now()) },
    });

    await page.getByRole("button", { name: "Yesterday" }).click();
    await expect.poll(() => page.locator("tbody a.mono").count()).toBe(8);
    await page.getByRole("button", { name: "Dates" }).click();
    const from = page.getByLabel("From");
    const day = await from.inputValue();
    await from.fill("2031-01-01");
    await page.getByText("The last date is before the first").waitFor();
    await from.fill(new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10));
    await page.getByRole("button", { name: "Show" }).click();
    await expect.poll(() => page.locator("tbody a.mono").count()).toBe(16);

    expect(new URL(page.url()).searchParams.get("to")).toBe(day);
    expect(complaints).toEqual([]);
  });

  it("explains a charge to be copied, also of a request whose outcome is not known, and of a task", async () => {
    const { page, origin, complaints } = await open({
      path: `/usage?request=${LOST_ID}`,
      gateway: { ledger: await fillUnusualLedger(Date.now()) },
      context: { permissions: ["clipboard-read", "clipboard-write"] },
    });
    const panel = page.getByRole("complementary");
    const copied = (): Promise<string> => page.evaluate("navigator.clipboard.readText()");

    await panel.getByText("0.64, the whole hold, was charged").waitFor();
    await panel.getByRole("button", { name: "Copy the explanation" }).click();
    await expect.poll(copied).toMatch(/Request id: req-lost\n(.*\n)+Charge: 0\.64\n0\.64, the whole hold/);
    await panel.getByRole("button", { name: "Close" }).click();
    await findRequest(page, TASK_ID);
    await panel.getByText("Waited 12s in the queue").waitFor();
    await panel.getByText("Call 2 to the provider").waitFor();
    await panel.getByText("The response took 4s to arrive").waitFor();
    await panel.getByRole("button", { name: "Copy the link" }).click();
    await expect.poll(copied).toBe(`${origin}/studio/usage?request=${TASK_ID}`);
    await panel.getByRole("button", { name: "Copy the explanation" }).click();
    await expect.poll(copied).toMatch(/\nImages: 2 × 0\.03 = 0\.06\nSum: 0\.06$/);
    await panel.getByRole("button", { name: "Copy: Task" }).click();
    await expect.poll(copied).toBe("task-1");

    expect(complaints).toEqual([]);
  });

  it.each([1280, 360])("renders no string as markup, and stays %i pixels wide", async (width) => {
    const { page, complaints } = await open({
      path: "/usage?period=24h",
      gateway: { ledger: await fillHostileLedger(Date.now(), HOSTILE) },
      context: { viewport: { width, height: 800 } },
    });
    const check = async (): Promise<void> => {
      expect(await page.evaluate("document.querySelectorAll('main img, main script').length")).toBe(0);
      expect(await page.title()).toContain("Usage");
      expect(await measureOverflow(page)).toBe(0);
    };
    const lines = page.locator(".section").first().locator("tbody a");

    for (const by of ["Model", "Channel", "End user", "Caller"]) {
      await page.getByRole("button", { name: by, exact: true }).click();
      await expect.poll(() => lines.count()).toBe(HOSTILE.length);
      await check();
    }
    await page.getByRole("button", { name: "Tag", exact: true }).click();
    await page.getByLabel("Name of the tag").fill("team");
    await page.keyboard.press("Enter");
    await expect.poll(() => lines.count()).toBe(HOSTILE.length);
    for (const line of [0, 5]) {
      await lines.nth(line).click();
      await page.getByRole("button", { name: /^Remove the filter team/ }).waitFor();
      await expect.poll(() => page.locator("tbody a.mono").count()).toBe(1);
      await page.locator("tbody a.mono").click();
      await page.getByRole("complementary").getByText("The record").click();
      await page.getByRole("complementary").locator("pre").waitFor();
      await check();
      await page.getByRole("button", { name: "Close" }).click();
      await page.getByRole("button", { name: /^Remove the filter team/ }).click();
      await expect.poll(() => lines.count()).toBe(HOSTILE.length);
    }

    expect(await findAxeProblems(page)).toEqual([]);
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

/** Finds a request by its id with the palette. */
async function findRequest(page: Page, id: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.locator(".palette [role=combobox]").fill(id);
  await page.getByRole("option", { name: id.slice(0, 8) }).waitFor();
  await page.keyboard.press("Enter");
}
