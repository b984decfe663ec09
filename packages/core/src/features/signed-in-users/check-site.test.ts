import { describe, expect, it } from "vitest";
import type { GatewayOptions } from "../../gateway-options/options.js";
import type { GatewayRequest } from "../../http.js";
import { LINK_SECRET, MemoryResults } from "../../testing/memory-results.js";
import { createTestGateway } from "../../testing/test-gateway.js";

const HOST = "http://gateway.test";
const PUBLIC = "https://app.example.com";
const LISTED = "https://shop.example.com";
const OTHER = "https://evil.example";

const SITES = [undefined, "same-origin", "same-site", "cross-site", "none"] as const;
const ORIGINS = [undefined, HOST, PUBLIC, LISTED, OTHER, "null"] as const;
const METHODS = ["POST", "GET", "HEAD"] as const;
const PUBLIC_URLS = [undefined, PUBLIC] as const;
const CORS = [undefined, "list", "*"] as const;

type Sender = "no origin" | "the app" | "listed" | "another";

/** Who may pass, by `Sec-Fetch-Site`. GET and HEAD change nothing. */
const CHANGES: Readonly<Record<string, readonly Sender[]>> = {
  "same-origin": ["no origin", "the app", "listed", "another"],
  "same-site": ["the app", "listed"],
  "cross-site": ["the app", "listed"],
  none: ["the app", "listed"],
  undefined: ["the app", "listed"],
};
const READS: typeof CHANGES = {
  ...CHANGES,
  none: ["no origin", "the app", "listed", "another"],
  undefined: ["no origin", "the app", "listed"],
};

const COMBINATIONS = PUBLIC_URLS.flatMap((publicUrl) => CORS.map((cors) => ({ publicUrl, cors })));

function create({ publicUrl, cors }: (typeof COMBINATIONS)[number]) {
  const options: Partial<GatewayOptions> = {
    cors: cors && { origins: cors === "list" ? [LISTED] : cors },
    results: publicUrl && {
      store: new MemoryResults(),
      secrets: [LINK_SECRET],
      publicUrl: `${publicUrl}/ai`,
    },
  };
  return createTestGateway(undefined, options);
}

describe.each(COMBINATIONS)("with publicUrl $publicUrl and cors.origins $cors", ({ publicUrl, cors }) => {
  const { gateway, calls } = create({ publicUrl, cors });
  const senderOf = (origin: string | undefined): Sender => {
    if (origin === undefined) return "no origin";
    if (origin === (publicUrl ?? HOST)) return "the app";
    return origin === LISTED && cors === "list" ? "listed" : "another";
  };

  it.each(
    METHODS.flatMap((method) => SITES.flatMap((site) => ORIGINS.map((origin) => ({ method, site, origin })))),
  )("$method, Sec-Fetch-Site: $site, Origin: $origin", async ({ method, site, origin }) => {
    let asked = 0;
    const caller = (): null => {
      asked++;
      return null;
    };
    const isRead = method !== "POST";
    const headers = { ...(site && { "sec-fetch-site": site }), ...(origin && { origin }) };
    const url = `${HOST}/v1/${isRead ? "models" : "images/generations"}`;
    const request = new Request(url, { method, headers, ...(!isRead && { body: "{}" }) });

    const response = await gateway.fetch(request, { caller });

    const passes = (isRead ? READS : CHANGES)[String(site)]?.includes(senderOf(origin)) === true;
    const code = /"code":"(\w+)"/.exec(await response.text())?.[1];
    expect({ status: response.status, asked, code }).toEqual({
      status: passes ? 401 : 403,
      asked: passes ? 1 : 0,
      // The response to a HEAD has no body.
      code: method === "HEAD" ? undefined : passes ? "not_signed_in" : "cross_site_request",
    });
    expect(calls).toEqual([]);
  });
});

describe("the app's own origin without publicUrl", () => {
  const { gateway } = createTestGateway();

  it.each<[string, Partial<GatewayRequest>, string | undefined, string, boolean]>([
    ["the host and its port", {}, "localhost:8787", "http://localhost:8787", true],
    ["another port", {}, "localhost:8787", "http://localhost:5173", false],
    ["no port", {}, "localhost:8787", "http://localhost", false],
    ["the default port", {}, "app.example:80", "http://app.example", true],
    ["letter case", {}, "App.Example", "http://app.example", true],
    ["another scheme", {}, "app.example", "https://app.example", false],
    ["an encrypted connection", { isEncrypted: true }, "app.example", "https://app.example", true],
    ["an encrypted connection, http", { isEncrypted: true }, "app.example", "http://app.example", false],
    ["a subdomain", {}, "app.example", "http://a.app.example", false],
    ["a longer host", {}, "app.example", "http://app.example.evil", false],
    ["a path", {}, "app.example", "http://app.example/", false],
    ["a list of origins", {}, "app.example", "http://app.example, http://evil.example", false],
    ["several hosts", {}, "app.example, evil.example", "http://evil.example", false],
    ["a host that is none", {}, "app.example/@evil.example", "http://evil.example", false],
    ["no host", {}, undefined, "http://", false],
    ["no host, and an opaque origin", {}, undefined, "null", false],
    [
      "an absolute URL",
      { url: "https://app.example/v1/images/generations" },
      undefined,
      "https://app.example",
      true,
    ],
    [
      "an absolute URL behind a proxy",
      { url: "https://inner/v1/images/generations" },
      "app.example",
      "https://app.example",
      true,
    ],
  ])("%s", async (_what, request, host, origin, passes) => {
    const headers = new Headers({ origin, ...(host && { host }) });
    const response = await gateway.handle({
      method: "POST",
      url: "/v1/images/generations",
      mountPath: "/",
      headers,
      body: null,
      signal: { aborted: false },
      findUser: () => null,
      ...request,
    });
    expect(response?.status).toBe(passes ? 401 : 403);
  });
});

it.each([
  [{}, "neither Origin nor Sec-Fetch-Site"],
  [{ origin: OTHER, "sec-fetch-site": "cross-site" }, `Origin: ${OTHER}, Sec-Fetch-Site: cross-site`],
  [{ "sec-fetch-site": "same-site" }, "Sec-Fetch-Site: same-site"],
  [{ origin: `https://${"x".repeat(9_000)}` }, /^.{1,500}$/],
])("the error names what the browser has sent: %j", async (headers, message) => {
  const { gateway } = createTestGateway();
  const request = new Request(`${HOST}/v1/images/generations`, { method: "POST", headers });
  const response = await gateway.fetch(request, { caller: () => ({ id: "42" }) });
  expect(response.status).toBe(403);
  expect(response.headers.get("access-control-allow-origin")).toBeNull();
  expect(await response.json()).toMatchObject({
    error: { type: "permission_error", code: "cross_site_request", message: expect.stringMatching(message) },
  });
});
