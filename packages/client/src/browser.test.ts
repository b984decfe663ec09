import type { GatewayOptions } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { openBrowser } from "../../conformance/src/browser/open-browser.js";
import { type Listening, listen } from "../../conformance/src/support/listen.js";
import { CALLER_KEY, SEEDREAM, startGateway } from "../../conformance/src/support/test-gateway.js";
import { useProviders } from "../../conformance/src/support/use-providers.js";
import type * as Exports from "./index.js";
import { bundleClient } from "./testing/bundle.js";
import { drawFile } from "./testing/open-gateway.js";

/** The client in the page. */
declare const calotype: typeof Exports;

const MS_PER_IMAGE = 300;
const REQUEST = { model: SEEDREAM, prompt: "3 herons", n: 3, size: "1K" };
const PAGE = '<!doctype html><title>Images</title><input type="file"><script src="/client.js"></script>';

const { code } = await bundleClient("iife");
const opened = await openBrowser();
afterAll(() => opened?.close());

async function untilEnd(started: Promise<Listening>): Promise<string> {
  const { url, close } = await started;
  onTestFinished(close);
  return url;
}

/** A page of an app, and whether its user is signed in. */
async function openPage(url: string, { isSignedIn = true } = {}) {
  const context = await opened?.browser.newContext();
  if (context === undefined) throw new Error("The browser is not open.");
  onTestFinished(() => context.close());
  if (isSignedIn) await context.addCookies([{ name: "session", value: CALLER_KEY, url }]);
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

/** In the page: the time between the first and the last image, or the code of an error. */
async function stream(options: { baseUrl: string; apiKey?: string }) {
  const times: number[] = [];
  const request = { model: "seedream-4-0-250828", prompt: "3 herons", n: 3 };
  try {
    for await (const event of calotype.createClient(options).stream(request))
      if (event.type === "image") times.push(performance.now());
  } catch (error) {
    return error instanceof calotype.CalotypeError ? error.code : "unknown";
  }
  return (times.at(-1) ?? 0) - (times[0] ?? 0);
}

describe.runIf(opened !== undefined)("the client in Chromium", () => {
  const providers = useProviders({ images: "tiny", millisecondsPerImage: MS_PER_IMAGE });

  /** An app whose users have a cookie: it serves a page, and the gateway at `/ai`. */
  const openApp = async (options: Partial<GatewayOptions> = {}) => {
    const test = startGateway(providers(), { basePath: "/ai", ...options });
    const handle = toNodeHandler(test.gateway);
    const ends: ("complete" | "left")[] = [];
    const url = await untilEnd(
      listen((request, response) => {
        if (request.url === "/") return void response.setHeader("content-type", "text/html").end(PAGE);
        if (request.url === "/client.js") return void response.end(code);
        const user = /session=([\w-]+)/.exec(request.headers.cookie ?? "")?.[1];
        if (user !== undefined) request.headers.authorization = `Bearer ${user}`;
        response.on("close", () => ends.push(response.writableFinished ? "complete" : "left"));
        handle(request, response);
      }),
    );
    return { ...test, url, ends };
  };

  it("sends the cookie of a signed-in user to its own origin, at a path", async () => {
    const { url, records } = await openApp();
    const page = await openPage(url);

    const data = await page.evaluate(async (request) => {
      const result = await calotype.createClient({ baseUrl: "/ai" }).generate(request);
      return result.data;
    }, REQUEST);

    expect(data).toHaveLength(3);
    expect(records).toMatchObject([{ caller: "tester", images: 3 }]);
  });

  it("gets a typed error without the cookie", async () => {
    const { url } = await openApp();
    const page = await openPage(url, { isSignedIn: false });

    const error = await page.evaluate(async (request) => {
      const reason: unknown = await calotype
        .createClient({ baseUrl: "/ai" })
        .generate(request)
        .catch((caught: unknown) => caught);
      if (!(reason instanceof calotype.CalotypeError)) return undefined;
      return { code: reason.code, status: reason.status, requestId: reason.requestId };
    }, REQUEST);

    expect(error).toEqual({
      code: "invalid_api_key",
      status: 401,
      requestId: expect.stringMatching(/^req_/),
    });
  });

  it("streams images to a page of another origin, one after another, with a key and without cookies", async () => {
    const { url: site } = await openApp();
    const { url, records } = await openApp({ cors: { origins: [site] } });
    const page = await openPage(site);
    const spread = await page.evaluate(stream, { baseUrl: `${url}/ai`, apiKey: CALLER_KEY });
    // Two intervals. A quarter of that, because the browser may be slow.
    expect(spread).toBeGreaterThan(MS_PER_IMAGE / 2);
    expect(await page.evaluate(stream, { baseUrl: `${url}/ai` })).toBe("invalid_api_key");
    expect(records).toMatchObject([{ images: 3 }]);
  });

  it("stops a stream: the gateway sees it", async () => {
    const { url, ends } = await openApp();
    providers().emulator.faults.add({ body: { chunkBytes: 600, pauseMs: 1_500 }, times: 1 });
    const page = await openPage(url);

    const name = await page.evaluate(async (request) => {
      const controller = new AbortController();
      const events = calotype.createClient({ baseUrl: "/ai" }).stream(request, { signal: controller.signal });
      try {
        for await (const { type } of events) if (type === "image") controller.abort();
      } catch (error) {
        return error instanceof DOMException ? error.name : "unknown";
      }
      return "no error";
    }, REQUEST);

    expect(name).toBe("AbortError");
    await vi.waitFor(() => expect(ends).toEqual(["left"]), 5_000);
  });

  it("uploads the file of an input", async () => {
    const { url, records } = await openApp();
    const page = await openPage(url);
    const file = await drawFile(7);
    const buffer = Buffer.from(await file.arrayBuffer());
    await page.setInputFiles("input", { name: "我的.png", mimeType: "image/png", buffer });

    const images = await page.evaluate(async (request) => {
      const [chosen] = document.querySelector("input")?.files ?? [];
      if (chosen === undefined) return 0;
      const client = calotype.createClient({ baseUrl: "/ai" });
      return (await client.edit({ ...request, n: 1, images: chosen })).data.length;
    }, REQUEST);

    expect(images).toBe(1);
    expect(records).toMatchObject([{ operation: "edit", images: 1 }]);
  });

  it("finds a task again after the page was loaded again", async () => {
    const { url, records } = await openApp();
    const page = await openPage(url);
    await page.evaluate(async (request) => {
      const { id } = await calotype.createClient({ baseUrl: "/ai" }).tasks.submit(request);
      sessionStorage.setItem("task", id);
    }, REQUEST);
    await page.reload();

    const data = await page.evaluate(async () => {
      const id = sessionStorage.getItem("task") ?? "";
      return (await calotype.createClient({ baseUrl: "/ai" }).tasks.wait(id)).data;
    });

    expect(data).toHaveLength(3);
    expect(records).toMatchObject([{ images: 3, charge: "0.09" }]);
  });
});
