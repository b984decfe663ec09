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
/** Of the emulator's smallest images. */
const WIDTH = 32;

const assets = await buildPage();
const opened = await openBrowser();
afterAll(() => opened?.close());

describe.runIf(opened !== undefined)("a page in Chromium that calls a gateway of another origin", () => {
  const providers = useProviders({ images: "tiny", millisecondsPerImage: MS_PER_IMAGE });

  /** Opens the page, and a gateway that allows its origin. */
  const openPage = async (options: Partial<GatewayOptions> = {}) => {
    const site = await untilEnd(servePage(assets));
    const test = startGateway(providers(), {
      callers: [{ id: "tester", key: CALLER_KEY, responseFormat: "b64_json", streamFormat: "openai" }],
      cors: { origins: [site] },
      ...options,
    });
    const gateway = await untilEnd(listen(toNodeHandler(test.gateway)));
    const context = await opened?.browser.newContext();
    if (context === undefined) throw new Error("The browser is not open.");
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(`${site}/?${new URLSearchParams({ gateway, key: CALLER_KEY }).toString()}`);
    return { ...test, page, gateway };
  };

  it("lists the models", async () => {
    const { page } = await openPage();
    await expect.poll(() => status(page)).toBe("listed");
    expect(await page.locator("#models option").allTextContents()).toContain(SEEDREAM);
  });

  it.each(["b64_json", "url"] as const)(
    "generates images as %s, draws them, and reads the id of the request",
    async (responseFormat) => {
      const { page, records } = await openPage({
        callers: [{ id: "tester", key: CALLER_KEY, responseFormat }],
      });

      await click(page, "generate");

      expect(await widths(page)).toEqual([WIDTH, WIDTH]);
      expect(await page.locator("#request-id").textContent()).toBe(records[0]?.id);
      expect(records).toMatchObject([{ images: 2, charge: "0.06" }]);
    },
  );

  it("streams images, which appear one after another, also after comments", async () => {
    const { page, records } = await openPage({ heartbeatSeconds: 0.1 });
    providers().emulator.faults.add({ latencyMs: 400, times: 1 });

    await click(page, "stream");

    expect(await widths(page)).toEqual([WIDTH, WIDTH, WIDTH]);
    const [first = 0, , third = 0] = await page.evaluate<readonly number[]>(
      "Array.from(document.images, (image) => Number(image.dataset.at))",
    );
    // Two intervals. Half of that, because the browser may be slow.
    expect(third - first).toBeGreaterThan(MS_PER_IMAGE);
    expect(records).toMatchObject([{ images: 3, charge: "0.09" }]);
  });

  it("edits a file that the user has chosen", async () => {
    const { page, records } = await openPage();
    const png = await drawPng(7);
    await page.setInputFiles("#file", { name: "my picture.png", mimeType: "image/png", buffer: png });

    await click(page, "edit");

    expect(await widths(page)).toEqual([WIDTH]);
    expect(sentUpstream(providers())).toMatchObject([{ image: [toDataUrl(png)] }]);
    expect(records).toMatchObject([{ operation: "edit", images: 1, charge: "0.03" }]);
  });

  it.each(["generate", "stream"])(
    "gets the error and `retry-after` of a refused request: %s",
    async (button) => {
      const { page, records } = await openPage({ limits: { requestsPerMinute: 1 } });
      await click(page, button);
      await click(page, button, /^RateLimitError 429 rate_limit_exceeded \d+$/);
      expect(records).toHaveLength(1);
    },
  );

  it("gets the error of a provider in a stream that has begun", async () => {
    const { page, records } = await openPage({ heartbeatSeconds: 0.1 });
    const code = "OutputImageSensitiveContentDetected";
    providers().emulator.faults.add({ latencyMs: 400, code, times: 1 });
    await click(page, "stream", /^APIError undefined OutputImageSensitiveContentDetected/);
    expect(records).toMatchObject([{ status: 400, errorCode: code, charge: "0" }]);
  });

  it("can do nothing if its origin is not allowed", async () => {
    const { page, records } = await openPage({ cors: { origins: ["https://shop.example"] } });
    await expect.poll(() => status(page)).toBe("APIConnectionError undefined undefined undefined");
    await page.evaluate(`document.querySelector("#models").append(new Option("${SEEDREAM}"))`);
    await page.click("#generate");
    await expect.poll(() => status(page)).toMatch(/^APIConnectionError/);
    expect(sentUpstream(providers())).toEqual([]);
    expect(records).toEqual([]);
  });
});

/** The address of a server, which is closed when the test ends. */
async function untilEnd(started: Promise<Listening>): Promise<string> {
  const { url, close } = await started;
  onTestFinished(close);
  return url;
}

/** Clicks a button and waits until its work has ended. */
async function click(page: Page, button: string, expected = /^done$/): Promise<void> {
  await expect.poll(() => page.locator("#models option").count()).toBeGreaterThan(0);
  await page.selectOption("#models", SEEDREAM);
  await page.click(`#${button}`);
  await expect.poll(() => status(page)).toMatch(expected);
}

async function status(page: Page): Promise<string> {
  return (await page.locator("#status").textContent()) ?? "";
}

/** The widths of the images, when the browser has decoded all of them. */
function widths(page: Page): Promise<readonly number[]> {
  return page.evaluate(
    "Promise.all(Array.from(document.images, (image) => image.decode().then(() => image.naturalWidth)))",
  );
}
