import type { GatewayOptions } from "@calotype/core";
import { toExpressHandler } from "@calotype/express";
import { createStudio, type StudioOptions } from "@calotype/studio";
import express from "express";
import type { BrowserContextOptions, Page } from "playwright-core";
import { onTestFinished } from "vitest";
import type { OpenBrowser } from "../browser/open-browser.js";
import { listen } from "../support/listen.js";
import { readStudioLink } from "../support/studio-link.js";
import { type Providers, startGateway, type TestGateway } from "../support/test-gateway.js";

/** The studio in a browser, beside its gateway, over loopback. */
export interface StudioPage extends TestGateway {
  readonly page: Page;
  readonly origin: string;
  /** Errors of scripts, and what the Content-Security-Policy has refused. A test must end without any. */
  readonly complaints: readonly string[];
}

/** What a studio page is opened with. */
export interface StudioPageOptions {
  readonly gateway?: Partial<GatewayOptions>;
  readonly studio?: StudioOptions;
  readonly context?: BrowserContextOptions;
  /** Below the studio. Default: Try. */
  readonly path?: string;
}

/** Mounts a gateway and its studio in one app, and opens the studio. */
export async function openStudioPage(
  { browser }: OpenBrowser,
  providers: Providers,
  { gateway: gatewayOptions, studio, context: contextOptions, path = "/try" }: StudioPageOptions = {},
): Promise<StudioPage> {
  const test = startGateway(providers, { basePath: "/ai", ...gatewayOptions });
  const app = express();
  app.use(toExpressHandler(test.gateway));
  const mounted = createStudio(test.gateway, studio);
  app.use("/studio", toExpressHandler(mounted));
  const { url: origin, close } = await listen(app);
  onTestFinished(close);
  const context = await browser.newContext({ locale: "en-US", ...contextOptions });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    // A refused request is also a message of the console, and the page shows it.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
      complaints.push(message.text());
    }
  });
  const url = `${origin}/studio${path}`;
  await page.goto(studio?.authorize === undefined ? readStudioLink(mounted, url) : url);
  return { ...test, page, origin, complaints };
}
