import { describe, expect, it } from "vitest";
import type { GatewayOptions } from "../../gateway-options/options.js";
import type { GatewayRequest } from "../../http.js";
import {
  CALLER_KEY,
  createPost,
  createTestGateway,
  GENERATIONS,
  type TestGateway,
} from "../../testing/test-gateway.js";

const SHOP = "https://shop.example";
const BODY = { model: "seedream-4-0-250828", prompt: "x" };
const create = (cors: GatewayOptions["cors"], options: Partial<GatewayOptions> = {}): TestGateway =>
  createTestGateway(undefined, { cors, ...options });

function preflight(
  { gateway }: TestGateway,
  headers: Record<string, string> = {},
  url = GENERATIONS,
): Promise<Response> {
  return gateway.fetch(
    new Request(url, {
      method: "OPTIONS",
      headers: { origin: SHOP, "access-control-request-method": "POST", ...headers },
    }),
  );
}

/** The headers of CORS in a response. */
function corsOf({ headers }: Response): object {
  return Object.fromEntries(
    [...headers].filter(([name]) => name === "vary" || name.startsWith("access-control")),
  );
}

describe("a preflight request", () => {
  it("of an allowed origin is allowed without a key", async () => {
    const response = await preflight(create({ origins: [SHOP] }), {
      "access-control-request-headers": "authorization, X-Stainless-Lang, x-stainless-lang ,bad name,",
    });
    expect(response.status).toBe(204);
    expect(await response.text()).toBe("");
    expect(Object.fromEntries(response.headers)).toEqual({
      "access-control-allow-origin": SHOP,
      "access-control-allow-methods": "GET, HEAD, POST",
      "access-control-allow-headers":
        "authorization, api-key, content-type, idempotency-key, prefer, x-calotype-tags, x-calotype-webhook, x-stainless-lang",
      "access-control-max-age": "600",
      vary: "origin",
      "cache-control": "no-store",
      "x-request-id": expect.stringMatching(/^req_/),
    });
  });

  it("of any origin is allowed with *", async () => {
    const response = await preflight(create({ origins: "*", maxAgeSeconds: 0 }), { origin: "null" });
    expect(response.status).toBe(204);
    expect(corsOf(response)).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-max-age": "0",
    });
    expect(response.headers.get("vary")).toBeNull();
  });

  it.each<[string, GatewayOptions["cors"], Record<string, string>]>([
    ["without the option", undefined, {}],
    ["of another origin", { origins: [SHOP] }, { origin: "https://evil.example" }],
    ["of an origin with another port", { origins: [SHOP] }, { origin: `${SHOP}:8443` }],
    ["of an origin in another scheme", { origins: [SHOP] }, { origin: "http://shop.example" }],
    ["of a longer origin", { origins: [SHOP] }, { origin: `${SHOP}.evil` }],
    ["of an opaque origin", { origins: [SHOP] }, { origin: "null" }],
  ])("%s is treated like any other OPTIONS", async (_what, cors, headers) => {
    const response = await preflight(create(cors), headers);
    expect(response.status).toBe(405);
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
    expect(response.headers.get("access-control-allow-headers")).toBeNull();
  });

  it("names the method that it announces: an OPTIONS without one is a 405", async () => {
    const { gateway } = create({ origins: "*" });
    const response = await gateway.fetch(
      new Request(GENERATIONS, { method: "OPTIONS", headers: { origin: SHOP } }),
    );
    expect(response.status).toBe(405);
    expect(corsOf(response)).toMatchObject({ "access-control-allow-origin": "*" });
  });

  it.each([
    ["/v1/images/generations", "POST", true],
    ["/shop/v1/images/generations", "POST", true],
    ["/shop/v1/images/generations", "GET", false],
    ["/v1/models/a%2Fb", "GET", true],
    ["/shop/v1/models", "GET", false],
    ["/shop", "POST", false],
  ])("in a host without a mount path, %s %s is ours: %s", async (url, announced, isOurs) => {
    const { gateway } = create({ origins: [SHOP] });
    const headers = new Headers({ origin: SHOP, "access-control-request-method": announced });
    const request: GatewayRequest = {
      method: "OPTIONS",
      url,
      headers,
      body: null,
      signal: { aborted: false },
    };
    expect((await gateway.handle(request))?.status).toBe(isOurs ? 204 : undefined);
  });

  it("for a path below the mount path that is not served is allowed, so that the page can read the 404", async () => {
    const test = create({ origins: [SHOP] });
    expect((await preflight(test, {}, "http://gateway.test/v1/images/variations")).status).toBe(204);
    const notFound = await test.gateway.fetch(
      new Request("http://gateway.test/elsewhere", { method: "POST", headers: { origin: SHOP } }),
    );
    expect(notFound.status).toBe(404);
    expect(notFound.headers.get("access-control-allow-origin")).toBe(SHOP);
  });
});

describe("a response to a web page", () => {
  const send = ({ gateway }: TestGateway, headers: Record<string, string>, body: unknown = BODY) =>
    gateway.fetch(createPost(body, headers));

  it("may be read by a page of an allowed origin", async () => {
    const response = await send(create({ origins: ["https://a.example", SHOP] }), { origin: SHOP });
    expect(response.status).toBe(200);
    expect(corsOf(response)).toEqual({
      "access-control-allow-origin": SHOP,
      "access-control-expose-headers": "x-request-id",
      vary: "origin",
    });
  });

  it.each<[string, number, Partial<GatewayOptions>, Record<string, string>, unknown]>([
    ["a wrong key", 401, {}, { authorization: "Bearer x" }, BODY],
    ["a body that is too large", 413, { bodyLimits: { json: 9 } }, {}, BODY],
    ["an unknown model", 404, {}, {}, { ...BODY, model: "x" }],
    ["a limit", 429, { limits: { imagesPerMinute: 1 } }, {}, { ...BODY, n: 2 }],
    [
      "a failure",
      502,
      {
        fetch: () => {
          throw new Error("down");
        },
      },
      {},
      BODY,
    ],
  ])("may be read if it is an error: %s", async (_what, status, options, headers, body) => {
    const response = await send(create({ origins: [SHOP] }, options), { origin: SHOP, ...headers }, body);
    expect(response.status).toBe(status);
    expect(response.headers.get("access-control-allow-origin")).toBe(SHOP);
    expect(response.headers.get("access-control-expose-headers")).toContain("x-request-id");
  });

  it("may be read if it is a stream, or says that the gateway is closed", async () => {
    const events = 'data: {"type":"image_generation.completed","usage":{"generated_images":0}}\n\n';
    const test = createTestGateway(
      () => new Response(events, { headers: { "content-type": "text/event-stream" } }),
      { cors: { origins: "*" } },
    );
    const stream = await send(test, { origin: SHOP }, { ...BODY, stream: true });
    expect(stream.headers.get("content-type")).toContain("text/event-stream");
    expect(stream.headers.get("access-control-allow-origin")).toBe("*");
    await stream.text();
    await test.gateway.close();
    const closed = await send(test, { origin: SHOP });
    expect(closed.status).toBe(503);
    expect(closed.headers.get("access-control-expose-headers")).toContain("retry-after");
  });

  it("has no permission for another origin, and the request is served", async () => {
    const response = await send(create({ origins: [SHOP] }), { origin: "https://evil.example" });
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
    expect(response.headers.get("vary")).toBe("origin");
  });

  it("says without an origin only that it depends on the origin", async () => {
    expect(corsOf(await send(create({ origins: [SHOP] }), {}))).toEqual({ vary: "origin" });
    expect(corsOf(await send(create({ origins: "*" }), {}))).toEqual({});
  });

  it("of the list of models may be read", async () => {
    const { gateway } = create({ origins: [SHOP] });
    const headers = { origin: SHOP, authorization: `Bearer ${CALLER_KEY}` };
    const response = await gateway.fetch(new Request("http://gateway.test/v1/models", { headers }));
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe(SHOP);
  });
});

describe("the option cors", () => {
  it.each([
    [SHOP],
    ["http://localhost:5173"],
    ["https://xn--bcher-kva.example"],
    ["https://[::1]:8080"],
    ["capacitor://localhost"],
    ["chrome-extension://abcdefgh"],
  ])("accepts the origin %s", (origin) => {
    expect(() => create({ origins: [origin] })).not.toThrow();
  });

  const ORIGIN = "must be an origin such as https://app.example.com, without a path";
  it.each<[unknown, string]>([
    [{ origins: [`${SHOP}/`] }, `cors.origins[0] ${ORIGIN}`],
    [{ origins: [SHOP, `${SHOP}/path`] }, `cors.origins[1] ${ORIGIN}`],
    [{ origins: [`${SHOP}:443`] }, `cors.origins[0] ${ORIGIN}`],
    [{ origins: ["https://Shop.example"] }, `cors.origins[0] ${ORIGIN}`],
    [{ origins: ["https://bücher.example"] }, `cors.origins[0] ${ORIGIN}`],
    [{ origins: ["https://u:p@shop.example"] }, `cors.origins[0] ${ORIGIN}`],
    [{ origins: ["https://*.example"] }, `cors.origins[0] ${ORIGIN}`],
    [{ origins: ["*"] }, `cors.origins[0] ${ORIGIN}`],
    [{ origins: ["null"] }, `cors.origins[0] ${ORIGIN}`],
    [{ origins: ["shop.example"] }, `cors.origins[0] ${ORIGIN}`],
    [{ origins: ["file://x"] }, `cors.origins[0] ${ORIGIN}`],
    [{ origins: [] }, "cors.origins must contain at least one origin"],
    [{ origins: SHOP }, 'cors.origins must be "*" or a list of origins'],
    [{}, 'cors.origins must be "*" or a list of origins'],
    [{ origins: "*", maxAgeSeconds: -1 }, "cors.maxAgeSeconds must be at least 0"],
    [{ origins: "*", credentials: true }, "cors.credentials is not an option"],
    [true, "cors must be an object with origins"],
  ])("refuses %j", (cors, problem) => {
    expect(() => create(cors as GatewayOptions["cors"])).toThrow(problem);
  });
});
