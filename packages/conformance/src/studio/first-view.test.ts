import type { Browser } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { measureSlowness } from "../support/measure-slowness.js";
import { useProviders } from "../support/use-providers.js";
import { fillLedger } from "./fill-ledger.js";
import { openStudioPage } from "./open-page.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

/** One load of the first screen with an empty cache. */
interface PageLoad {
  /** What was sent over the network, compressed. */
  readonly bytes: number;
  /** What the page's thread needed of the CPU. */
  readonly cpuMilliseconds: number;
}

describe.runIf(opened !== undefined)("the first view, with an empty cache", () => {
  const providers = useProviders();

  it("is under 200 kB, and needs less than half a second of the CPU in the median of five loads", async () => {
    if (opened === undefined) throw new Error("The browser is not open.");
    const { origin } = await openStudioPage(opened, providers(), {
      gateway: { ledger: await fillLedger(Date.now()) },
      // Each load is that of a new browser.
      studio: { authorize: () => "admin" },
    });

    const loads: PageLoad[] = [];
    for (let index = 0; index < 5; index++) loads.push(await load(opened.browser, `${origin}/studio`));
    const median = (name: keyof PageLoad): number =>
      loads.map((each) => each[name]).toSorted((a, b) => a - b)[2] ?? 0;

    expect(median("bytes")).toBeGreaterThan(10_000);
    expect(median("bytes")).toBeLessThan(200_000);
    expect(median("cpuMilliseconds")).toBeGreaterThan(0);
    expect(median("cpuMilliseconds")).toBeLessThan(500 * measureSlowness());
  });
});

async function load(browser: Browser, url: string): Promise<PageLoad> {
  const context = await browser.newContext({ locale: "en-US" });
  try {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    let bytes = 0;
    session.on("Network.loadingFinished", ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await session.send("Network.enable");
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    await page.goto(url);
    await page.locator(".chart").waitFor();
    const { metrics } = await session.send("Performance.getMetrics");
    const seconds = metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0;
    return { bytes, cpuMilliseconds: seconds * 1000 };
  } finally {
    await context.close();
  }
}
