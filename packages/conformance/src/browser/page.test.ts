import { Buffer } from "node:buffer";
import type { GatewayOptions } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { drawPng, toDataUrl } from "../clients/support/images.js";
import { sentUpstream } from "../clients/support/sent-upstream.js";
import { type Listening, listen } from "../support/listen.js";
import { CALLER_KEY, SEEDREAM, startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { openBrowser } from "./open-browser.js";
import { buildPage, servePage } from "./serve-page.js";

const MS_PER_IMAGE = 200;

const opened = await openBrowser();
const assets = await buildPage();
afterAll(() => opened?.close());

describe.runIf(opened !== undefined)("a page in Chromium that calls a gateway of another origin", () => {
  const providers = useProviders({ images: "tiny", millisecondsPerImage: MS_PER_IMAGE });

  const closed = async (started: Promise<Listening>): Promise<string> => {
    const { url, close } = await started;
    onTestFinished(close);
    return url;
  };

  /** Opens the page, and a gateway that allows its origin. */
  const openPage = async (options: Partial<GatewayOptions> = {}) => {
    const site = await closed(servePage(assets));
    const test = startGateway(providers(), {
      callers: [{ id: "tester", key: CALLER_KEY, responseFormat: "b64_json" }],
      cors: { origins: [site] },
      ...options,
    });
    const gateway = await closed(listen(toNodeHandler(test.gateway)));
    const context = await opened?.browser.newContext();
    if (context === undefined) throw new Error("The browser is not open.");
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(`${site}/?${new URLSearchParams({ gateway, key: CALLER_KEY })}`);
    return { ...test, page, gateway };
  };

  it("lists the models", async () => {
    const { page } = await openPage();
    await expect.poll(() => status(page)).toBe("listed");
    expect(await page.locator("#models option").allTextContents()).toContain(SEEDREAM);
  });

  it("generates images and reads the id of the request", async () => {
    const { page, records } = await openPage();

    await click(page, "generate");

    expect(await widths(page)).toEqual([1024, 1024]);
    expect(records).toMatchObject([{ images: 2, charge: "0.06" }]);
    expect(await page.locator("#request-id").textContent()).toBe(records[0]?.id);
  });
});

/** Clicks a button and waits until its work is done. */
async function click(page: Page, button: string, expected: unknown = "done"): Promise<void> {
  await expect.poll(() => status(page)).toBe("listed");
  await page.selectOption("#models", SEEDREAM);
  await page.click(`#${button}`);
  await expect.poll(() => status(page), { timeout: 5_000 }).toEqual(expected);
}

function status(page: Page): Promise<string | null> {
  return page.locator("#status").textContent();
}

/** The widths of the images that the browser has decoded. */
function widths(page: Page): Promise<readonly number[]> {
  return page.locator("#images img").evaluateAll(async (images) => {
    return Promise.all(
      images.map(async (image) => {
        await (image as HTMLImageElement).decode();
        return (image as HTMLImageElement).naturalWidth;
      }),
    );
  });
}
