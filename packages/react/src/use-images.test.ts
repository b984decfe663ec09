import type { GatewayOptions } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { openBrowser } from "../../conformance/src/browser/open-browser.js";
import { drawPng } from "../../conformance/src/clients/support/images.js";
import { sentUpstream } from "../../conformance/src/clients/support/sent-upstream.js";
import { listen } from "../../conformance/src/support/listen.js";
import { CALLER_KEY, startGateway } from "../../conformance/src/support/test-gateway.js";
import { isFull } from "../../conformance/src/support/test-run.js";
import { useProviders } from "../../conformance/src/support/use-providers.js";
import { bundlePage, REACT_VERSIONS } from "./testing/bundle-page.js";

const MS_PER_IMAGE = 500;
/** A stream that takes seconds after its first image. */
const SLOW = { body: { chunkBytes: 600, pauseMs: 1_500 }, times: 1 };
const PAGE = '<!doctype html><title>Images</title><body><script src="/page.js" defer></script>';

const opened = await openBrowser();
afterAll(() => opened?.close());

const posts = (requests: readonly string[]): readonly string[] =>
  requests.filter((request) => request.startsWith("POST"));

const VERSIONS = Object.keys(REACT_VERSIONS) as (keyof typeof REACT_VERSIONS)[];

describe.runIf(opened !== undefined).each(isFull() ? VERSIONS : VERSIONS.slice(0, 1))(
  "useImages in Chromium, in strict mode, with %s",
  async (version) => {
    const script = await bundlePage(version);
    const providers = useProviders({ images: "tiny", millisecondsPerImage: MS_PER_IMAGE });

    /** An app that serves the page, and the gateway at `/ai` for its user; and the page in a browser. */
    const openPage = async (query: Record<string, string> = {}, options: Partial<GatewayOptions> = {}) => {
      const test = startGateway(providers(), { basePath: "/ai", ...options });
      const handle = toNodeHandler(test.gateway);
      const requests: string[] = [];
      const left: string[] = [];
      /** For how long the app holds each POST back before the gateway gets it. */
      const network = { delayMs: 0 };
      const { url, close } = await listen((request, response) => {
        const path = request.url ?? "/";
        if (path === "/page.js") return void response.end(script);
        if (!path.startsWith("/ai/")) return void response.setHeader("content-type", "text/html").end(PAGE);
        requests.push(`${request.method} ${path}`);
        response.on("close", () => response.writableFinished || left.push(path));
        request.headers.authorization = `Bearer ${CALLER_KEY}`;
        if (request.method === "POST") setTimeout(() => handle(request, response), network.delayMs);
        else handle(request, response);
      });
      onTestFinished(close);
      const context = await opened?.browser.newContext();
      if (context === undefined) throw new Error("The browser is not open.");
      onTestFinished(() => context.close());
      const page = await context.newPage();
      const errors: string[] = [];
      page.on("pageerror", ({ message }) => errors.push(message));
      page.on("console", (message) => {
        if (message.type() === "error" && !message.text().startsWith("Failed to load"))
          errors.push(message.text());
      });
      onTestFinished(() => expect(errors).toEqual([]));
      await page.goto(`${url}/?${new URLSearchParams(query).toString()}`);
      const status = () => page.locator("output").textContent();
      const images = () => page.locator("img").count();
      const click = (id: string) => page.click(`#${id}`);
      return { ...test, page, network, requests, left, status, images, click };
    };

    it("shows the images of a stream one after another", async () => {
      const { page, click, status, images, records, requests } = await openPage();
      expect(await status()).toBe("idle");
      expect(await page.evaluate("seen.version")).toMatch(version.replace("React ", ""));

      await click("generate");
      // A second click while the call is in progress.
      await click("generate");

      await expect.poll(status).toBe("done");
      expect(await images()).toBe(3);
      const shown = await page.evaluate<Record<string, number>>("seen.shown");
      expect(Object.keys(shown)).toEqual(
        expect.arrayContaining(["idle 0", "queued 0", "running 1", "running 2"]),
      );
      // Two intervals. A quarter of that, because the browser may be slow.
      expect((shown["running 3"] ?? 0) - (shown["running 1"] ?? 0)).toBeGreaterThan(MS_PER_IMAGE / 2);
      expect(posts(requests)).toEqual(["POST /ai/v1/images/generations"]);
      await vi.waitFor(() => expect(records).toMatchObject([{ charge: "0.09" }]), 5_000);
    });

    it.each([{}, { key: "boats" }])("sends one request if an effect runs twice: %j", async (query) => {
      const { page, status, images, requests, records } = await openPage({ auto: "1", ...query });
      await expect.poll(() => page.evaluate("seen.effects")).toBe(2);

      await expect.poll(status).toBe("done");

      expect(await images()).toBe(3);
      expect(posts(requests)).toHaveLength(1);
      expect(sentUpstream(providers())).toHaveLength(1);
      await vi.waitFor(() => expect(records).toMatchObject([{ charge: "0.09" }]), 5_000);
    });

    it("stops a stream: the gateway sees it, and the images so far stay", async () => {
      const { click, status, images, left } = await openPage();
      providers().emulator.faults.add(SLOW);
      await click("generate");
      await expect.poll(images).toBeGreaterThan(0);

      await click("abort");

      await expect.poll(status).toBe("idle");
      await vi.waitFor(() => expect(left).toEqual(["/ai/v1/images/generations"]), 5_000);
      expect(await images()).toBeGreaterThan(0);
      await click("reset");
      await expect.poll(images).toBe(0);
    });

    it("ends a stream with its component", async () => {
      const { click, status, images, left } = await openPage();
      providers().emulator.faults.add(SLOW);
      await click("generate");
      await expect.poll(images).toBeGreaterThan(0);

      await click("toggle");

      await vi.waitFor(() => expect(left).toEqual(["/ai/v1/images/generations"]), 5_000);
      await click("toggle");
      expect(await status()).toBe("idle");
    });

    it("shows the error of a call, and starts another one after it", async () => {
      const { click, status, images, page } = await openPage({ prompt: "3 herons SensitiveContentDetected" });
      await click("generate");
      await expect.poll(status).toBe("failed");
      expect(await page.locator("#error").textContent()).toMatch(
        /^CalotypeError \w*SensitiveContentDetected$/,
      );
      expect(await images()).toBe(0);

      await click("generate");
      await expect.poll(status).toBe("failed");
    });

    it("edits a file that the user has chosen", async () => {
      const { page, status, images, records } = await openPage({ key: "edit" });
      const buffer = await drawPng(9);
      await page.setInputFiles("input", { name: "a.png", mimeType: "image/png", buffer });

      await expect.poll(status).toBe("done");

      expect(await images()).toBe(1);
      await vi.waitFor(() => expect(records).toMatchObject([{ operation: "edit", images: 1 }]), 5_000);
    });

    it("finds its task again after a reload, also when it is done", async () => {
      const { page, click, status, images, requests, records } = await openPage({ key: "boats" });
      await click("generate");
      await expect.poll(() => page.evaluate("sessionStorage.getItem('boats')")).toMatch(/"task":"task_/);

      await page.reload();

      await expect.poll(status).toBe("done");
      expect(await images()).toBe(3);
      await page.reload();
      await expect.poll(status).toBe("done");
      expect(await images()).toBe(3);
      expect(posts(requests)).toEqual(["POST /ai/v1/images/generations"]);
      expect(records).toMatchObject([{ charge: "0.09" }]);

      await click("reset");
      await page.reload();
      await expect.poll(status).toBe("idle");
      expect(await page.evaluate("sessionStorage.length")).toBe(0);
    });

    it("submits again what a reload has interrupted, and is charged once", async () => {
      const { page, status, requests, records } = await openPage({ key: "boats" });
      // The request was sent, and the page was loaded again before it had the task.
      await page.evaluate(`sessionStorage.setItem("boats", JSON.stringify({
        request: { model: "seedream-4-0-250828", prompt: "3 herons", n: 3 }, idempotencyKey: "k-1", at: Date.now() }))`);
      await page.reload();
      await expect.poll(status).toBe("done");
      await page.evaluate(`sessionStorage.setItem("boats", JSON.stringify({
        request: { model: "seedream-4-0-250828", prompt: "3 herons", n: 3 }, idempotencyKey: "k-1", at: Date.now() }))`);

      await page.reload();
      await expect.poll(status).toBe("done");

      expect(posts(requests)).toHaveLength(2);
      expect(records).toMatchObject([{ charge: "0.09" }]);
    });

    it("keeps a task when its component ends, and finds it when the component is back", async () => {
      const { page, click, status, images, records } = await openPage({ key: "boats" });
      await click("generate");
      await expect.poll(() => page.evaluate("sessionStorage.getItem('boats')")).toMatch(/"task":"task_/);
      await click("toggle");
      expect(await page.locator("output").count()).toBe(0);
      await click("toggle");
      await expect.poll(status).toBe("done");
      expect(await images()).toBe(3);
      expect(records).toMatchObject([{ charge: "0.09" }]);
    });

    it("cancels a task that waits, which costs nothing", async () => {
      const { page, click, status, gateway } = await openPage(
        { key: "boats" },
        { tasks: { concurrency: 0 } },
      );
      await click("generate");
      await expect.poll(() => page.evaluate("sessionStorage.getItem('boats')")).toMatch(/"task":"task_/);
      expect(await status()).toBe("queued");

      await click("abort");

      await expect.poll(status).toBe("idle");
      expect(await page.evaluate("sessionStorage.length")).toBe(0);
      await vi.waitFor(
        async () => expect(await gateway.usage.balance("tester")).toEqual({ settled: "0", held: "0" }),
        5_000,
      );
    });

    it("sends nothing if a call is aborted in the turn in which it began", async () => {
      const { page, status, requests } = await openPage();
      await page.evaluate("for (const id of ['generate', 'abort']) document.getElementById(id).click()");
      await expect.poll(status).toBe("idle");
      expect(posts(requests)).toEqual([]);
    });

    it("cancels a task that was aborted before its submission had a response", async () => {
      const { page, click, status, network, gateway, requests } = await openPage(
        { key: "boats" },
        { tasks: { concurrency: 0 } },
      );
      network.delayMs = 500;
      await click("generate");
      await expect.poll(() => posts(requests)).toHaveLength(1);
      await click("abort");
      await expect.poll(status).toBe("idle");

      await expect.poll(() => posts(requests).at(-1)).toMatch(/\/cancel$/);
      await vi.waitFor(
        async () => expect(await gateway.usage.balance("tester")).toEqual({ settled: "0", held: "0" }),
        5_000,
      );
      expect(await page.evaluate("sessionStorage.length")).toBe(0);
    });

    it("submits again after a reload in the middle of a submission, and is charged once", async () => {
      const { page, click, status, network, requests, records } = await openPage({ key: "boats" });
      network.delayMs = 300;
      await click("generate");
      await expect.poll(() => posts(requests)).toHaveLength(1);

      await page.reload();

      await expect.poll(status).toBe("done");
      expect(posts(requests).length).toBeGreaterThan(1);
      expect(records).toMatchObject([{ charge: "0.09" }]);
    });

    it("does not submit again after a reload what was refused", async () => {
      const { page, click, status, requests } = await openPage(
        { key: "boats" },
        { callers: [{ id: "tester", key: CALLER_KEY, budget: "0.01" }] },
      );
      await click("generate");
      await expect.poll(status).toBe("failed");
      expect(await page.locator("#error").textContent()).toBe("CalotypeError insufficient_quota");

      await page.reload();

      await expect.poll(status).toBe("idle");
      expect(posts(requests)).toHaveLength(1);
    });

    it.each([
      ["of a task that does not exist any more", `{"task":"task_${"0".repeat(32)}"}`],
      ["that something else has written", "[1"],
      ["of a request that was interrupted long ago", '{"request":{},"idempotencyKey":"k","at":1}'],
    ])("is idle with an entry %s", async (_what, entry) => {
      const { page, status, requests } = await openPage({ key: "boats" });
      await page.evaluate(`sessionStorage.setItem("boats", ${JSON.stringify(entry)})`);
      await page.reload();
      await expect.poll(status).toBe("idle");
      expect(posts(requests)).toEqual([]);
    });
  },
);
