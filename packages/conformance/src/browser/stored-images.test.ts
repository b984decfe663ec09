import type { RequestListener } from "node:http";
import { toNodeHandler } from "@calotype/node";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { drawPng } from "../clients/support/images.js";
import { type Listening, listen } from "../support/listen.js";
import { LINK_SECRET, pathTo, storeOne } from "../support/stored-files.js";
import { startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { openBrowser } from "./open-browser.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

/** It tells its own origin if it runs. */
const SCRIPT = "new Image().src = '/ran'; fetch('/ran');";
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="${SCRIPT}"><script>${SCRIPT}</script></svg>`;
const HTML = `<!doctype html><html><body onload="${SCRIPT}"><script>${SCRIPT}</script></body></html>`;

/** How long a script gets to run. */
const RUN_MS = 400;

/** Opens an address, which may become a download. */
const visit = async (page: Page, address: string): Promise<void> => {
  await page.goto(address).catch((error: unknown) => {
    if (!/download|ERR_ABORTED/i.test(String(error))) throw error;
  });
  await page.waitForTimeout(RUN_MS);
};

describe.runIf(opened !== undefined)("a stored image in Chromium", () => {
  const providers = useProviders();

  /** Serves a file by a gateway, and a page of another origin with the given body. */
  const open = async (
    bytes: Uint8Array,
    contentType: string,
    toBody: (link: string) => string = String,
    // Such a page may embed only what allows it.
    { isIsolated = false } = {},
  ) => {
    const { store, id } = await storeOne(bytes, contentType);
    const { gateway } = startGateway(providers(), { results: { store, secrets: [LINK_SECRET] } });
    const ran: string[] = [];
    const serveFile = toNodeHandler(gateway);
    const files = await untilEnd((req, res) => {
      if (req.url === "/ran") ran.push("ran");
      // The same file without the headers of the gateway, which shows that the scripts can run.
      if (req.url === "/bare") res.setHeader("content-type", contentType).end(bytes);
      else serveFile(req, res);
    });
    const link = files + pathTo(id);
    const site = await untilEnd((_req, res) => {
      res.setHeader("content-type", "text/html");
      if (isIsolated) res.setHeader("cross-origin-embedder-policy", "require-corp");
      res.end(`<!doctype html><html><body>${toBody(link)}</body></html>`);
    });
    const context = await opened?.browser.newContext();
    if (context === undefined) throw new Error("The browser is not open.");
    onTestFinished(() => context.close());
    return { page: await context.newPage(), link, bare: `${files}/bare`, site, ran };
  };

  it.each([
    ["image/svg+xml", SVG],
    ["text/html", HTML],
    [
      "application/xhtml+xml",
      HTML.replace("<!doctype html><html>", '<html xmlns="http://www.w3.org/1999/xhtml">'),
    ],
  ])(
    "of the type %s would run its scripts without the gateway's headers, and does not with them",
    async (type, text) => {
      const { page, link, bare, ran } = await open(Buffer.from(text), type);
      await visit(page, link);
      expect(ran).toEqual([]);
      await visit(page, bare);
      expect(ran).toContain("ran");
    },
  );

  it.each(["image/png", "application/octet-stream", "image/unknown"])(
    "that is HTML and has the type %s runs no script",
    async (type) => {
      const { page, link, ran } = await open(Buffer.from(HTML), type);
      await visit(page, link);
      expect(ran).toEqual([]);
    },
  );

  it.each([
    ["a frame", (link: string) => `<iframe src="${link}"></iframe>`],
    ["an object", (link: string) => `<object data="${link}" type="image/svg+xml"></object>`],
    ["an embedded file", (link: string) => `<embed src="${link}" type="image/svg+xml">`],
    ["a script", (link: string) => `<script src="${link}"></script>`],
    ["an image", (link: string) => `<img src="${link}">`],
  ])("with scripts runs none of them as %s of another page", async (_what, toBody) => {
    const { page, site, ran } = await open(Buffer.from(SVG), "image/svg+xml", toBody);
    await visit(page, site);
    expect(ran).toEqual([]);
  });

  it.each([false, true])(
    "is shown by a page of another origin, isolated: %s, which may read its bytes",
    async (isIsolated) => {
      const png = await drawPng(7);
      const { page, site } = await open(png, "image/png", (link) => `<img src="${link}">`, { isIsolated });
      await visit(page, site);
      const seen = await page.evaluate<object>(`(async () => {
      const [image] = document.images;
      await image.decode();
      const response = await fetch(image.src);
      const { byteLength } = await response.arrayBuffer();
      return { width: image.naturalWidth, byteLength, tag: response.headers.get("etag") };
    })()`);
      expect(seen).toEqual({ width: expect.any(Number), byteLength: png.length, tag: expect.any(String) });
      expect(seen).not.toMatchObject({ width: 0 });
    },
  );
});

async function untilEnd(listener: RequestListener): Promise<string> {
  const listening: Listening = await listen(listener);
  onTestFinished(() => listening.close());
  return listening.url;
}
