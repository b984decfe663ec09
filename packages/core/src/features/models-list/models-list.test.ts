import { describe, expect, it, vi } from "vitest";
import type { GatewayOptions } from "../../gateway-options/options.js";
import {
  CALLER_KEY,
  createPost,
  createTestGateway,
  type ReadResponse,
  readResponse,
  type TestGateway,
} from "../../testing/test-gateway.js";

async function get(
  { gateway }: TestGateway,
  path = "/v1/models",
  init: RequestInit = { headers: { authorization: `Bearer ${CALLER_KEY}` } },
): Promise<ReadResponse> {
  return readResponse(await gateway.fetch(new Request(`http://gateway.test${path}`, init)));
}

const MODELS: Partial<GatewayOptions> = {
  models: {
    "seedream-5-0-pro-260628": { family: "seedream" },
    "seedream-4-5-251128": { family: "seedream" },
    "image-edit*": { family: "qwen-image" },
    "team/poster": { family: "qwen-image", capabilities: { size: "none", imagesPerCall: 1 }, fanOut: false },
    plain: { family: "qwen-image", capabilities: {} },
  },
};

const entry = (id: string, owned_by: string, created: number, capabilities: object): object => ({
  id,
  object: "model",
  created,
  owned_by,
  capabilities: expect.objectContaining(capabilities),
});

describe("GET /v1/models", () => {
  it("lists what the caller can request of each model", async () => {
    const response = await get(createTestGateway(undefined, MODELS));
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toEqual({
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-request-id": expect.stringMatching(/^req_/),
    });
    expect(response.body).toMatchObject({ object: "list" });
    expect((response.body["data"] as object[]).filter((_, index) => index !== 3 && index !== 4)).toEqual([
      entry("seedream-5-0-pro-260628", "seedream", Date.UTC(2026, 5, 28) / 1000, {
        operations: ["generate", "edit"],
        sizes: {
          presets: ["1K", "1.5K", "2K"],
          list: [],
          min_pixels: 921_600,
          max_pixels: 4_624_220,
          min_side: null,
          max_side: null,
          max_aspect_ratio: 16,
        },
        max_images: 10,
        references: { min: 0, max: 10 },
        max_references_and_images: 15,
        stream: false,
        background: ["auto", "transparent", "opaque"],
        output_formats: ["png", "jpeg"],
        layers: { max: 16, sizes: ["1K", "1.5K", "2K", "auto"] },
      }),
      entry("seedream-4-5-251128", "seedream", Date.UTC(2025, 10, 28) / 1000, {
        max_images: 15,
        stream: true,
        background: null,
        output_formats: null,
        layers: null,
      }),
      entry("image-edit-max", "qwen-image", 0, {
        operations: ["generate"],
        sizes: expect.objectContaining({ min_side: 512, max_side: 2048, min_pixels: null }),
        max_images: 6,
        references: { min: 1, max: 3 },
        stream: false,
      }),
      entry("team/poster", "qwen-image", 0, {
        sizes: expect.objectContaining({ presets: [], list: [], max_pixels: null }),
        max_images: 1,
        references: null,
      }),
      entry("plain", "qwen-image", 0, { sizes: null, max_images: null, references: null }),
    ]);
  });

  it("shows sizes in pixels, the edits that the options open, and streams that the gateway makes", async () => {
    const test = createTestGateway(undefined, {
      models: { "image-max": { family: "qwen-image", edits: true } },
      callers: [
        { id: "me", key: CALLER_KEY, client: "openai" },
        { id: "other", key: "other" },
      ],
    });
    expect(await get(test, "/v1/models/image-max")).toMatchObject({
      body: {
        capabilities: {
          stream: true,
          max_images: 10,
          sizes: { list: ["1664x928", "1472x1104", "1328x1328", "1104x1472", "928x1664"], max_pixels: null },
        },
      },
    });
    const ofOther = await get(test, "/v1/models/image-max", { headers: { "api-key": "other" } });
    expect(ofOther).toMatchObject({ body: { capabilities: { stream: false } } });
  });

  it("has no body for HEAD", async () => {
    const headers = { authorization: `Bearer ${CALLER_KEY}` };
    const response = await get(createTestGateway(), "/v1/models", { method: "HEAD", headers });
    expect(response).toMatchObject({ status: 200, text: "" });
  });

  it.each(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])("refuses %s", async (method) => {
    const response = await get(createTestGateway(), "/v1/models/image-max", { method });
    expect(response).toMatchObject({ status: 405, body: { error: { code: "method_not_allowed" } } });
    expect(response.headers.get("allow")).toBe("GET");
  });

  it.each([undefined, "Bearer wrong", "Bearer"])("refuses the key %s", async (authorization) => {
    const headers = authorization === undefined ? {} : { authorization };
    const response = await get(createTestGateway(), "/v1/models", { headers });
    expect(response).toMatchObject({ status: 401, body: { error: { code: "invalid_api_key" } } });
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
  });

  it("counts in no limit and is reported nowhere", async () => {
    const onRequest = vi.fn<() => void>();
    const onError = vi.fn<() => void>();
    const limits = { requestsPerMinute: 1, concurrent: 1 };
    const test = createTestGateway(undefined, { limits, onRequest, onError });
    for (let count = 0; count < 5; count++) expect((await get(test)).status).toBe(200);
    await get(test, "/v1/models/nothing");
    expect((await test.post({ model: "doodle", prompt: "x" })).status).toBe(200);
    expect(onRequest).toHaveBeenCalledTimes(1);
    expect(onError).not.toHaveBeenCalled();
    expect(test.records).toHaveLength(1);
  });

  it("is a 500 without details if authenticate fails", async () => {
    const test = createTestGateway(undefined, {
      callers: undefined,
      authenticate: () => Promise.reject(new Error(`down ${CALLER_KEY}`)),
    });
    const response = await get(test);
    expect(response).toMatchObject({ status: 500, body: { error: { message: "The gateway failed." } } });
    expect(JSON.stringify(test.logs)).not.toContain(CALLER_KEY);
    expect(test.logs).toMatchObject([{ level: "error" }]);
  });

  it("waits for options that take time, says if they cannot be loaded, and is refused after close", async () => {
    const loading = Promise.withResolvers<GatewayOptions["callers"]>();
    const callers = () => loading.promise as Promise<{ id: string; key: string }[]>;
    const test = createTestGateway(undefined, { callers });
    const early = get(test);
    loading.resolve([{ id: "me", key: CALLER_KEY }]);
    expect((await early).status).toBe(200);
    await test.gateway.close();
    expect(await get(test)).toMatchObject({ status: 503, body: { error: { code: "gateway_closed" } } });

    const broken = createTestGateway(undefined, { callers: () => Promise.reject(new Error("down")) });
    expect(await get(broken)).toMatchObject({
      status: 503,
      body: { error: { code: "gateway_unavailable" } },
    });
  });

  it("follows a reload of the options", async () => {
    let models: GatewayOptions["models"] = { "image-max": { family: "qwen-image" } };
    const test = createTestGateway(undefined, { models: () => models as Record<string, { family: string }> });
    const ids = async () => ((await get(test)).body["data"] as readonly { id: string }[]).map(({ id }) => id);
    expect(await ids()).toEqual(["image-max"]);
    models = { "image-plus": { family: "qwen-image" } };
    await test.gateway.reload();
    expect(await ids()).toEqual(["image-plus"]);
  });
});

describe("GET /v1/models/{id}", () => {
  it.each([
    ["/v1/models/team%2Fposter", "team/poster"],
    ["/v1/models/team/poster", "team/poster"],
    ["/v1/models/team/poster/?api-version=1", "team/poster"],
    ["/v1/models/image-edit-max", "image-edit-max"],
    ["/v1/models/image-edit-of-mine", "image-edit-of-mine"],
  ])("%s is %s", async (path, id) => {
    expect(await get(createTestGateway(undefined, MODELS), path)).toMatchObject({
      status: 200,
      body: { id, object: "model" },
    });
  });

  it.each([
    ["/v1/models/nothing", 404, "model_not_found"],
    ["/v1/models/%zz", 404, "model_not_found"],
    ["/v1/models/image-edit*", 404, "model_not_found"],
    ["/v1/models/TEAM%2Fposter", 404, "model_not_found"],
    ["/v1/models/plain", 403, "model_not_allowed"],
  ])("%s is %i %s", async (path, status, code) => {
    const callers = [{ id: "me", key: CALLER_KEY, models: ["team/*", "image-*"] }];
    const response = await get(createTestGateway(undefined, { ...MODELS, callers }), path);
    expect(response).toMatchObject({ status, body: { error: { code, param: "model" } } });
  });

  it("ignores case if names do so", async () => {
    const test = createTestGateway(undefined, { ...MODELS, caseInsensitiveNames: true });
    expect(await get(test, "/v1/models/TEAM%2FPoster")).toMatchObject({ body: { id: "team/poster" } });
  });
});

describe("prices in the list of models", () => {
  const billing = {
    model_details: {
      plain: { pricing_mode: "per-request" as const, model_price: "0.30", decimal_places: 2 },
      "team/poster": { pricing_mode: "per-request" as const, model_price: 0.1 },
    },
    group_ratio: { default: "1", vip: "0.333" },
  };
  const models = { plain: { family: "qwen-image" }, "team/poster": { family: "qwen-image" } };
  const create = (options: Partial<GatewayOptions>) =>
    createTestGateway(undefined, { models, billing, callers: undefined, ...options });

  it("are those of the caller's group", async () => {
    const test = create({ showPrices: true, authenticate: () => ({ id: "me", group: "vip" }) });
    expect((await get(test)).body).toMatchObject({
      data: [
        { id: "plain", price: { pricing_mode: "per-request", model_price: "0.0999", decimal_places: 2 } },
        { id: "team/poster", price: { pricing_mode: "per-request", model_price: "0.0333" } },
      ],
    });
    expect((await get(test, "/v1/models/plain")).body["price"]).toEqual({
      pricing_mode: "per-request",
      model_price: "0.0999",
      decimal_places: 2,
    });
  });

  it("are absent without the option, and without billing", async () => {
    const hidden = create({ authenticate: () => ({ id: "me" }) });
    expect((await get(hidden, "/v1/models/plain")).body).not.toHaveProperty("price");
    const free = create({ showPrices: true, billing: undefined, authenticate: () => ({ id: "me" }) });
    expect((await get(free, "/v1/models/plain")).body).not.toHaveProperty("price");
  });

  it("are refused for a group without a ratio, which can use nothing", async () => {
    const test = create({ showPrices: true, authenticate: () => ({ id: "me", group: "new" }) });
    expect((await get(test)).body).toEqual({ object: "list", data: [] });
    const response = await get(test, "/v1/models/plain");
    expect(response).toMatchObject({ status: 403, body: { error: { code: "group_not_priced" } } });
    expect((await test.gateway.fetch(createPost({ model: "plain", prompt: "x" }))).status).toBe(403);
  });
});
