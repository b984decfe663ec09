import type { Caller, GatewayOptions } from "@calotype/core";
import { toExpressHandler } from "@calotype/express";
import express from "express";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { listen } from "../support/listen.js";
import { SEEDREAM, startGateway } from "../support/test-gateway.js";
import { isFull } from "../support/test-run.js";
import { useProviders } from "../support/use-providers.js";
import { createExpressSession } from "./libraries.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

const JSON_BODY = JSON.stringify({ model: SEEDREAM, prompt: "x", size: "1K" });
const COOKIE = "connect.sid";

/** A request that has reached the app, and the status of its response. */
interface Arrived {
  readonly status: number;
  readonly method: string;
  readonly path: string;
  /** Whether the browser has sent the cookie of the session. */
  readonly hasCookie: boolean;
  readonly site: string | undefined;
}

interface Setup {
  /** The name of the app's server in the browser. */
  readonly host?: string;
  /** Returns options of the gateway, for the origin of the other page. */
  readonly toOptions?: (attacker: string) => Partial<GatewayOptions>;
}

/** The requests for the gateway. */
const calls = (arrived: readonly Arrived[]): readonly Arrived[] =>
  arrived.filter(({ path }) => path.startsWith("/v1"));

const toSite = (url: string, host: string): string => url.replace("127.0.0.1", host);

describe.runIf(opened !== undefined)("a signed-in user in Chromium", () => {
  const providers = useProviders();

  /** Opens an app with a user who is signed in, in a browser whose cookies go to the app from all pages. */
  const start = async ({ host = "127.0.0.1", toOptions = () => ({}) }: Setup = {}) => {
    const attacker = await listen((req, res) => {
      if (req.url?.startsWith("/bounce")) {
        return void res.writeHead(307, { location: decodeURIComponent(req.url.split("?")[1] ?? "") }).end();
      }
      res.setHeader("content-type", "text/html").end("<!doctype html><title>attacker</title>");
    });
    onTestFinished(attacker.close);
    const test = startGateway(providers(), toOptions(attacker.url));
    const seen = vi.fn<(id: string | undefined) => Caller | null>((id) => (id === undefined ? null : { id }));
    const arrived: Arrived[] = [];
    const app = express();
    app.use((req, res, next) => {
      const { cookie = "", "sec-fetch-site": site } = req.headers;
      const hasCookie = cookie.includes(COOKIE);
      const known = { method: req.method, path: req.path, hasCookie, site: site?.toString() };
      // Not at "finish": the browser closes the connection early if a page may not read the response.
      res.on("close", () => arrived.push({ status: res.statusCode, ...known }));
      next();
    });
    app.use(createExpressSession());
    app.get("/", (_req, res) => void res.type("html").send("<!doctype html><title>app</title>"));
    app.post("/login", (req, res) => {
      req.session.userId = "ada";
      res.end();
    });
    app.use(toExpressHandler(test.gateway, { caller: (req) => seen(req.session.userId) }));
    const listening = await listen(app);
    onTestFinished(listening.close);
    const url = toSite(listening.url, host);
    const context = await opened?.browser.newContext();
    if (context === undefined) throw new Error("The browser is not open.");
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(url);
    await page.evaluate("fetch('/login', { method: 'POST' })");
    // The browser then sends the cookie also from other sites, as browsers did before SameSite.
    const cookie = (await context.cookies(url)).find(({ name }) => name === COOKIE);
    if (cookie === undefined) throw new Error("Nobody is signed in.");
    if (host === "127.0.0.1") await context.addCookies([{ ...cookie, sameSite: "None", secure: true }]);
    const sent = (): number => providers().emulator.requests.length;
    return { ...test, page, url, attacker: attacker.url, seen, arrived, sent };
  };

  it("makes images on the app's own page, and reads its models there", async () => {
    const { page, seen, records } = await start();
    expect(await run(page, `fetch("/v1/images/generations", ${post("application/json", JSON_BODY)})`)).toBe(
      200,
    );
    expect(await run(page, `fetch("/v1/images/edits", { method: "POST", body: ${FORM} })`)).toBe(400);
    expect(await run(page, `fetch("/v1/models")`)).toBe(200);
    expect(seen).toHaveBeenCalledTimes(3);
    expect(records).toMatchObject([{ caller: "user:ada", charge: "0.03" }]);
  });

  it("may type the address of a GET", async () => {
    const { page, url, arrived } = await start();
    await page.goto("about:blank");
    const response = await page.goto(`${url}/v1/models`);
    expect(response?.status()).toBe(200);
    expect(calls(arrived)).toMatchObject([{ site: "none", hasCookie: true }]);
  });

  const ATTACKS: readonly (readonly [string, (url: string, attacker: string) => string])[] = [
    ["a form with text", (url) => submit(url, "text/plain", JSON_BODY)],
    ["a form with a file", (url) => submit(url.replace("generations", "edits"), "multipart/form-data", "x")],
    [
      "a form that a server of the attacker redirects",
      (url, attacker) => submit(`${attacker}/bounce?${encodeURIComponent(url)}`, "text/plain", JSON_BODY),
    ],
    ["fetch with text", (url) => noCors(url, post("text/plain", JSON_BODY))],
    [
      "fetch with a form",
      (url) => noCors(url.replace("generations", "edits"), `{ method: "POST", body: ${FORM} }`),
    ],
    ["fetch without a body", (url) => noCors(url, `{ method: "POST" }`)],
    ["sendBeacon", (url) => `navigator.sendBeacon(${JSON.stringify(url)}, ${JSON.stringify(JSON_BODY)})`],
    ["a sandboxed frame", (url) => frame(noCors(url, post("text/plain", JSON_BODY)))],
    ["an image of a GET", (url) => `new Image().src = ${JSON.stringify(toModels(url))}`],
    ["fetch of a GET", (url) => noCors(toModels(url), "{}")],
    ["a link to a GET", (url) => `location.href = ${JSON.stringify(toModels(url))}`],
  ];

  /** Pages of the same site differ in one header. */
  const few = isFull() ? ATTACKS : ATTACKS.slice(0, 3);

  describe.each([
    ["another port", few],
    ["another site", ATTACKS],
  ] as const)("is not what a page of %s can use", (where, attacks) => {
    it.each(attacks)("%s", async (what, toScript) => {
      const { page, url, attacker, seen, arrived, sent } = await start();
      await page.goto(where === "another port" ? attacker : toSite(attacker, "evil.example"));
      await page.evaluate(toScript(`${url}/v1/images/generations`, attacker));

      // The attack has reached the app, with the user's cookie.
      const site = where === "another port" && !what.includes("sandboxed") ? "same-site" : "cross-site";
      await expect.poll(() => calls(arrived)).toMatchObject([{ status: 403, hasCookie: true, site }]);
      expect(seen).not.toHaveBeenCalled();
      expect(sent()).toBe(0);
    });

    it("fetch with JSON, for which the browser asks first", async () => {
      const { page, url, attacker, arrived, seen, sent } = await start();
      await page.goto(where === "another port" ? attacker : toSite(attacker, "evil.example"));
      const script = `fetch("${url}/v1/images/generations", { ...${post("application/json", JSON_BODY)}, credentials: "include" })`;
      expect(await run(page, script)).toContain("TypeError");
      await expect
        .poll(() => calls(arrived))
        .toMatchObject([{ method: "OPTIONS", status: 405, hasCookie: false }]);
      expect(seen).not.toHaveBeenCalled();
      expect(sent()).toBe(0);
    });
  });

  it("is not what a sandboxed frame of the app's own page can use", async () => {
    const { page, url, seen, arrived } = await start();
    await page.evaluate(frame(noCors(`${url}/v1/images/generations`, post("text/plain", JSON_BODY))));
    await expect
      .poll(() => calls(arrived))
      .toMatchObject([{ status: 403, hasCookie: true, site: "cross-site" }]);
    expect(seen).not.toHaveBeenCalled();
  });

  describe("without TLS, where browsers send no Sec-Fetch-Site", () => {
    it("makes images on the app's own page", async () => {
      const { page, arrived, records } = await start({ host: "app.example" });
      expect(await run(page, `fetch("/v1/images/generations", ${post("application/json", JSON_BODY)})`)).toBe(
        200,
      );
      expect(calls(arrived)).toMatchObject([{ site: undefined, hasCookie: true }]);
      expect(records).toMatchObject([{ caller: "user:ada" }]);
    });

    it.each(few)("is not what a page of another port can use: %s", async (_what, toScript) => {
      const { page, url, attacker, seen, arrived } = await start({ host: "app.example" });
      await page.goto(toSite(attacker, "app.example"));
      await page.evaluate(toScript(`${url}/v1/images/generations`, attacker));
      await expect
        .poll(() => calls(arrived))
        .toMatchObject([{ status: 403, hasCookie: true, site: undefined }]);
      expect(seen).not.toHaveBeenCalled();
    });
  });

  it("may be on a page of an origin of cors.origins, which can read the response", async () => {
    const {
      page,
      url,
      attacker: friend,
      records,
    } = await start({ toOptions: (site) => ({ cors: { origins: [site] } }) });
    await page.goto(friend);
    const init = `{ ...${post("application/json", JSON_BODY)}, credentials: "include" }`;
    expect(await run(page, `fetch("${url}/v1/images/generations", ${init})`)).toBe(200);
    expect(records).toMatchObject([{ caller: "user:ada" }]);
  });

  it("is not what all pages can use with cors.origins *", async () => {
    const { page, url, attacker, seen, sent } = await start({
      toOptions: () => ({ cors: { origins: "*" } }),
    });
    await page.goto(attacker);
    const withCookie = `{ ...${post("application/json", JSON_BODY)}, credentials: "include" }`;
    expect(await run(page, `fetch("${url}/v1/images/generations", ${withCookie})`)).toContain("TypeError");
    const without = post("application/json", JSON_BODY);
    expect(await run(page, `fetch("${url}/v1/images/generations", ${without})`)).toBe(403);
    expect(seen).not.toHaveBeenCalled();
    expect(sent()).toBe(0);
  });
});

/** Runs `fetch` in a page, and returns the status or the error. */
const run = (page: Page, fetching: string): Promise<unknown> =>
  page.evaluate(`${fetching}.then(({ status }) => status, String)`);

const FORM = `(() => { const form = new FormData(); form.set("model", "${SEEDREAM}"); form.set("prompt", "x"); return form; })()`;

const post = (type: string, body: string): string =>
  `{ method: "POST", headers: { "content-type": "${type}" }, body: ${JSON.stringify(body)} }`;

const noCors = (url: string, init: string): string =>
  `void fetch(${JSON.stringify(url)}, { mode: "no-cors", credentials: "include", ...${init} }).catch(() => {})`;

const toModels = (url: string): string => url.replace("images/generations", "models");

/** Submits a form whose text is a JSON object, as `{"a":"=","model":…}`. */
function submit(url: string, type: string, text: string): string {
  return `(() => {
    const form = document.createElement("form");
    Object.assign(form, { method: "POST", action: ${JSON.stringify(url)}, enctype: "${type}" });
    const field = document.createElement("input");
    Object.assign(field, { name: ${JSON.stringify(`{"a":"`)}, value: ${JSON.stringify(`",${text.slice(1)}`)} });
    form.append(field);
    document.body.append(form);
    form.submit();
  })()`;
}

/** Runs a script in a frame whose origin is opaque. */
function frame(script: string): string {
  return `(() => {
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts";
    frame.srcdoc = ${JSON.stringify(`<script>${script}</`)} + "script>";
    document.body.append(frame);
  })()`;
}
