import { describe, expect, it } from "vitest";
import type { Gateway } from "../../gateway.js";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { CALLER_KEY, createTestGateway, GENERATIONS, type TestGateway } from "../../testing/test-gateway.js";
import type { EstimateQuery } from "./estimate-feature.js";

const MODEL = "seedream-4-0-250828";
const BILLING = {
  model_details: { [MODEL]: { pricing_mode: "per-request" as const, model_price: "0.2" } },
  group_ratio: { default: "1", vip: "0.5" },
};
const create = (options: Partial<GatewayOptions> = {}): TestGateway =>
  createTestGateway(undefined, { models: { [MODEL]: { family: "seedream" } }, ...options });
const KEY = new Headers({ authorization: `Bearer ${CALLER_KEY}` });
const query = (fields: object): EstimateQuery => ({
  operation: "generate",
  fields: { model: MODEL, prompt: "a fox", ...fields },
});

/** Sends a request as a host does that has found out itself who sends it. */
const send = (gateway: Gateway, caller: object) => {
  const headers = { "content-type": "application/json", authorization: "Basic of-the-operator" };
  const body = JSON.stringify({ model: MODEL, prompt: "a fox" });
  const request = new Request(GENERATIONS, { method: "POST", headers, body });
  return gateway.handle({
    method: "POST",
    url: request.url,
    headers: request.headers,
    body: request.body,
    signal: request.signal,
    ...caller,
  });
};

describe("gateway.estimate", () => {
  it("returns the most that a request would be charged, and sends nothing", async () => {
    const { gateway, calls } = create({ billing: BILLING });

    const estimate = await gateway.estimate({ headers: KEY }, query({ n: 3 }));

    expect(estimate).toMatchObject({ model: MODEL, maxImages: 3, charge: { amount: "0.6" } });
    expect(calls).toEqual([]);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0" });
  });

  it("uses the prices of a caller that the host names, and reads no key", async () => {
    const { gateway } = create({ billing: BILLING });
    const request = { headers: new Headers(), caller: { id: "desk", group: "vip" } };

    const { charge } = await gateway.estimate(request, query({}));

    expect(charge?.amount).toBe("0.1");
  });

  it("counts the reference images of an edit, which it does not load", async () => {
    const { gateway } = create({ billing: BILLING });
    const fields = { model: MODEL, prompt: "a fox", images: [{ image_url: "https://nowhere.test/1.png" }] };

    const { charge, maxImages } = await gateway.estimate({ headers: KEY }, { operation: "edit", fields });

    expect([charge?.amount, maxImages]).toEqual(["0.2", 1]);
  });

  it("names the size that replaces the size of the request", async () => {
    const { gateway } = create({ billing: BILLING, sizes: "nearest" });

    const { size } = await gateway.estimate({ headers: KEY }, query({ size: "10x10" }));

    expect(size).toMatch(/^\d+x\d+$/);
  });

  it("has no charge without prices", async () => {
    const { gateway } = create({ billing: undefined });

    await expect(gateway.estimate({ headers: KEY }, query({}))).resolves.toMatchObject({ charge: null });
  });

  it.each([
    ["no key", new Headers(), {}, "invalid_api_key"],
    ["an unknown model", KEY, { model: "none" }, "model_not_found"],
    ["a model that is no string", KEY, { model: 7 }, "invalid_request_error"],
    ["a wrong size", KEY, { size: "10x10" }, "invalid_request_error"],
    ["a number of images that is none", KEY, { n: "many" }, "invalid_request_error"],
  ])("is refused like the request itself for %s", async (_what, headers, fields, code) => {
    const { gateway } = create({ billing: BILLING });

    await expect(gateway.estimate({ headers }, query(fields))).rejects.toMatchObject({ code });
  });
});

describe("a request whose caller the host names", () => {
  it("is charged to that caller, with the preferences of the request", async () => {
    const { gateway, records, calls } = create({ billing: BILLING });
    const caller = { id: "desk", responseFormat: "url" as const };

    const response = await send(gateway, { caller, preferences: { responseFormat: "b64_json" } });

    expect(response?.status).toBe(200);
    expect(calls[0]?.body["response_format"]).toBe("b64_json");
    expect(records).toMatchObject([{ caller: "desk" }]);
  });

  it("has the limits and the expiry of that caller", async () => {
    const { gateway } = create({ billing: BILLING });
    const poor = { id: "poor", budget: "0.1" };
    const old = { id: "old", expiresAt: "2020-01-01T00:00:00Z" };

    expect((await send(gateway, { caller: poor }))?.status).toBe(403);
    expect((await send(gateway, { caller: old }))?.status).toBe(401);
  });

  it("fails if the caller cannot be read, because ignoring a limit would lift it", async () => {
    const { gateway, logs } = create({ billing: BILLING });

    const response = await send(gateway, { caller: { id: "me", limits: { concurrent: "2" } } });

    expect(response?.status).toBe(500);
    expect(JSON.stringify(logs.map(({ fields }) => String((fields as { err?: unknown }).err)))).toContain(
      "the host named the caller",
    );
  });
});

describe("POST …/estimate", () => {
  const ask = (gateway: Gateway, path: string, init: RequestInit = {}): Promise<Response> =>
    gateway.fetch(
      new Request(`http://localhost/v1/images/${path}/estimate`, {
        method: "POST",
        headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" },
        body: JSON.stringify(query({ n: 3, images: undefined }).fields),
        ...init,
      }),
    );

  it("tells a caller the most that a request would be charged, and sends nothing", async () => {
    const { gateway, calls } = create({ billing: BILLING, showPrices: true });
    const response = await ask(gateway, "generations");

    expect(response.status).toBe(200);
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    expect(await response.json()).toEqual({ model: MODEL, max_images: 3, charge: "0.6", ignored: [] });
    expect(calls).toEqual([]);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0" });
  });

  it.each([
    ["without `showPrices`", { billing: BILLING }],
    ["without `billing`", { billing: undefined }],
  ])("has no charge %s", async (_what, options) => {
    const response = await ask(create(options).gateway, "generations");
    expect(await response.json()).toMatchObject({ max_images: 3, charge: null });
  });

  it("says which size an edit would have, and which fields would have no effect", async () => {
    const { gateway } = create({ billing: BILLING, showPrices: true, sizes: "nearest" });
    const fields = { size: "1x1", images: [{ image_url: "https://nowhere.test/1.png" }], partial_images: 1 };
    const response = await ask(gateway, "edits", { body: JSON.stringify(query(fields).fields) });
    expect(await response.json()).toEqual({
      model: MODEL,
      max_images: 1,
      charge: "0.2",
      size: expect.stringMatching(/^\d+x\d+$/),
      ignored: expect.any(Array),
    });
  });

  it.each<[what: string, path: string, init: RequestInit, expected: object]>([
    ["a wrong key", "generations", { headers: { authorization: "Bearer x" } }, { code: "invalid_api_key" }],
    ["a wrong field", "generations", { body: JSON.stringify(query({ n: 0.5 }).fields) }, { param: "n" }],
    ["an edit without images", "edits", {}, { message: "image is required" }],
    ["a body that is not JSON", "generations", { body: "{" }, { code: "invalid_request_error" }],
    ["a form", "edits", { headers: KEY, body: new FormData() }, { code: "unsupported_media_type" }],
    ["another method", "generations", { method: "GET", body: null }, { code: "method_not_allowed" }],
  ])("refuses %s as the request itself is refused", async (_what, path, init, expected) => {
    const { gateway } = create({ billing: BILLING });
    const response = await ask(gateway, path, init);
    expect(response.status).toBeLessThan(500);
    expect(await response.json()).toMatchObject({ error: expected });
  });

  it("refuses a body above the limit of JSON bodies", async () => {
    const { gateway } = create({ bodyLimits: { json: 1024 } });
    const body = JSON.stringify(query({ prompt: "x".repeat(2_000) }).fields);
    expect((await ask(gateway, "generations", { body })).status).toBe(413);
  });
});

describe("what is in effect now", () => {
  it("shows the price tables", async () => {
    const priced = create({ billing: { ...BILLING, group_ratio: undefined } });

    expect(await priced.gateway.prices()).toEqual({
      model_details: BILLING.model_details,
      group_ratio: { default: "1" },
    });
    expect(await create({ billing: undefined }).gateway.prices()).toBeUndefined();
  });

  it("shows the callers of the options without their keys", async () => {
    const { gateway } = create({
      callers: [
        { id: "a", key: "caller-canary-1", group: "default" },
        { id: "b", hash: "0".repeat(64) },
      ],
    });

    expect(await gateway.callers.fixed()).toEqual([{ id: "a", group: "default" }, { id: "b" }]);
  });
});
