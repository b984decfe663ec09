import { describe, expect, it } from "vitest";
import type { PriceTables } from "../../billing/model-details.js";
import { createPriceList } from "../../billing/pricing.js";
import { type ChannelOptions, createChannel } from "../../channels/channel.js";
import type { ChannelStatus } from "../../channels/channel-status.js";
import { qwenImage } from "../../families/qwen-image/qwen-image.js";
import { seedream } from "../../families/seedream/seedream.js";
import { createGateway, type Gateway } from "../../gateway.js";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { createCapabilityTable } from "../../models/resolve-model.js";
import {
  ARK_RESPONSE,
  CALLER_KEY,
  DASHSCOPE_RESPONSE,
  refusedConnection,
} from "../../testing/test-gateway.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import { estimateProbe, type ProbeEstimate } from "./probe-channel.js";

interface Bench {
  readonly gateway: Gateway;
  readonly sent: JsonObject[];
  readonly status: () => ChannelStatus | undefined;
}

const KEYS = ["canary-key-one", "canary-key-two"] as const;

const MODELS = {
  "series-*": { family: "seedream" },
  "seedream-4-5-251128": { family: "seedream" },
  "image-edit-max": { family: "qwen-image" },
  "image-max": { family: "qwen-image" },
  "image-2.0-pro*": { family: "qwen-image" },
};

/** A gateway with one channel of interest. The other family has a channel too, because each model needs one. */
function createBench(
  respond: (key: string) => Response,
  channel: Partial<ChannelOptions> = {},
  options: Partial<GatewayOptions> = {},
): Bench {
  let now = 1_800_000_000_000;
  const { family = "seedream" } = channel;
  const sent: JsonObject[] = [];
  const gateway = createGateway(
    {
      models: MODELS,
      channels: [
        { id: "c", family, apiKey: KEYS[0], ...channel },
        { id: "s", family: "seedream", apiKey: "other-key-1" },
        { id: "q", family: "qwen-image", apiKey: "other-key-2" },
      ],
      callers: [{ id: "me", key: CALLER_KEY }],
      logger: { warn: () => {}, error: () => {} },
      async fetch(_url, init) {
        now += 1_500;
        const body: unknown = JSON.parse(typeof init?.body === "string" ? init.body : "");
        if (isJsonObject(body)) sent.push(body);
        return respond(new Headers(init?.headers).get("authorization")?.slice("Bearer ".length) ?? "");
      },
      ...options,
    },
    { now: () => now, random: () => 0, sleep: async () => {} },
  );
  const status = (): ChannelStatus | undefined => gateway.status().channels.find(({ id }) => id === "c");
  return { gateway, sent, status };
}

const makesImage = (): Response => Response.json(ARK_RESPONSE);

const makesImageInMessages = (): Response => Response.json(DASHSCOPE_RESPONSE);

function refuse(status: number, code: string, message = ""): Response {
  return Response.json({ error: { code, message } }, { status });
}

const refuseKey = (): Response => refuse(401, "AuthenticationError");

describe("probeChannel", () => {
  it.each([
    [
      "image-2.0-pro-2026-06-22",
      { "image-2.0-pro*": "qwen-image-2.0-pro*" },
      "qwen-image-2.0-pro-2026-06-22",
    ],
    ["image-2.0-pro", { "image-2.0-pro*": "qwen-image-2.0-pro*" }, "qwen-image-2.0-pro"],
    ["image-2.0-pro-2026-03-03", { "image-2.0-pro-2026-03-03": "ep-pro" }, "ep-pro"],
  ])("sends no image for the dated model %s of a series", async (model, modelMapping, upstreamModel) => {
    const { gateway, sent } = createBench(makesImageInMessages, {
      family: "qwen-image",
      modelMapping,
    });
    expect(await gateway.probeChannel("c", { model })).toMatchObject({ ok: true, model, upstreamModel });
    expect(sent).toEqual([
      {
        model: upstreamModel,
        input: { messages: [{ role: "user", content: [{ text: expect.stringMatching(/\S/) }] }] },
        parameters: expect.any(Object),
      },
    ]);
  });

  it("sends an image for a dated edit model", async () => {
    const models = { ...MODELS, "image-edit*": { family: "qwen-image" } };
    const { gateway, sent } = createBench(makesImageInMessages, { family: "qwen-image" }, { models });
    const model = "image-edit-plus-2025-12-15";
    expect((await gateway.probeChannel("c", { model })).ok).toBe(true);
    expect(JSON.stringify(sent)).toContain("data:image/");
  });

  it("requests one image and returns the result", async () => {
    const { gateway, sent } = createBench(makesImage, {
      modelMapping: { "seedream-4-5-251128": "ep-1" },
    });
    expect(await gateway.probeChannel("c")).toEqual({
      channel: "c",
      model: "seedream-4-5-251128",
      upstreamModel: "ep-1",
      ok: true,
      keys: [{ ok: true, index: 0, images: 1, usage: ARK_RESPONSE.usage, durationMs: 1_500 }],
    });
    expect(sent).toEqual([{ model: "ep-1", prompt: expect.any(String) }]);
  });

  it("reports no image if the response contains a failure, as for clients", async () => {
    const { gateway } = createBench(() =>
      Response.json({ ...ARK_RESPONSE, error: { code: "InternalServiceError", message: "No." } }),
    );
    expect(await gateway.probeChannel("c")).toMatchObject({
      ok: false,
      keys: [{ ok: false, reason: "content", code: "InternalServiceError", message: "No." }],
    });
  });

  it("tries each key, and names the refused key", async () => {
    const { gateway, status } = createBench(
      (key) => (key === KEYS[1] ? refuse(401, "AuthenticationError", `No such key: ${key}`) : makesImage()),
      { apiKey: KEYS },
    );
    const test = await gateway.probeChannel("c");
    expect(test).toMatchObject({
      ok: false,
      keys: [
        { ok: true, index: 0 },
        { ok: false, index: 1, reason: "credential", status: 401, code: "AuthenticationError" },
      ],
    });
    expect(JSON.stringify(test)).toContain("No such key: ***");
    expect(JSON.stringify(test)).not.toContain("canary");
    expect(status()).toMatchObject({
      state: "ready",
      keys: [{ state: "ready" }, { state: "cooling", reason: "credential" }],
      errors: [{ kind: "credential", status: 401, code: "AuthenticationError", key: 1 }],
    });
    expect(status()?.lastHour.at(-1)).toMatchObject({ attempts: 2, failures: 1 });
    expect(JSON.stringify(status())).not.toContain("canary");
  });

  it("ends a cooldown when it succeeds, even before its end", async () => {
    let respond = refuseKey;
    const { gateway, status } = createBench(() => respond());
    await gateway.probeChannel("c");
    expect(status()).toMatchObject({ state: "cooling" });
    respond = makesImage;
    await gateway.probeChannel("c");
    expect(status()).toMatchObject({ state: "ready" });
  });

  it.each<[string, () => Response, object]>([
    ["a rate limit", () => refuse(429, "RateLimitExceeded"), { reason: "rate", status: 429 }],
    ["a used-up account", () => refuse(429, "QuotaExceeded"), { reason: "quota", status: 429 }],
    [
      "a refused content",
      () => refuse(400, "InvalidParameter", "size"),
      { reason: "content", message: "size" },
    ],
    ["a response that is not JSON", () => new Response("<html>"), { reason: "broken", status: 200 }],
    ["a response past the limit", () => Response.json("x".repeat(20_000)), { reason: "broken", status: 200 }],
    [
      "a response without an image",
      () => Response.json({ data: [{ error: { code: "Sensitive", message: "No." } }] }),
      { reason: "content", status: 200, code: "Sensitive", message: "No." },
    ],
    [
      "no connection",
      () => {
        throw refusedConnection();
      },
      { reason: "unreachable", status: undefined, message: "refused" },
    ],
  ])("reports %s", async (_what, respond, expected) => {
    const { gateway } = createBench(respond, {}, { maxUpstreamResponseBytes: 10_000 });
    const { ok, keys } = await gateway.probeChannel("c");
    expect(ok).toBe(false);
    expect(keys).toMatchObject([{ ok: false, index: 0, durationMs: 1_500, ...expected }]);
  });

  it("shows the provider's name of the model in its message", async () => {
    const { gateway } = createBench(
      () => refuse(404, "InvalidEndpointOrModel.NotFound", "ep-1 does not exist"),
      {
        modelMapping: { "seedream-4-5-251128": "ep-1" },
      },
    );
    expect(await gateway.probeChannel("c")).toMatchObject({
      keys: [{ ok: false, reason: "model", status: 404, message: "ep-1 does not exist" }],
    });
  });

  it("uses the given model and fields", async () => {
    const { gateway, sent } = createBench(makesImage);
    const options = { model: "series-9", fields: { prompt: "A cat", size: "2K" } };
    expect(await gateway.probeChannel("c", options)).toMatchObject({ model: "series-9", ok: true });
    expect(sent).toEqual([{ model: "series-9", prompt: "A cat", size: "2K" }]);
  });

  it("sends an image if the channel serves only edit models", async () => {
    const dashscope = { family: "qwen-image" };
    const both = createBench(makesImageInMessages, dashscope);
    expect(await both.gateway.probeChannel("c")).toMatchObject({ model: "image-max", ok: true });
    const edits = createBench(makesImageInMessages, {
      ...dashscope,
      modelMapping: { "image-edit*": "qwen-image-edit*" },
    });
    expect(await edits.gateway.probeChannel("c")).toMatchObject({
      model: "image-edit-max",
      ok: true,
    });
    expect(JSON.stringify(edits.sent)).toContain("data:image/png;base64,");
  });

  it.each([
    [{}, {}, "invalid_request_error", "Name the model: the channel c serves series only."],
    [{}, { model: "image-max" }, "model_not_found", "The channel c does not serve the model image-max."],
    [{}, { model: "nothing" }, "model_not_found", "The channel c does not serve the model nothing."],
    [{ "*": "x" }, { fields: { prompt: "" } }, "invalid_request_error", "prompt must not be empty"],
  ] as const)(
    "with the mapping %j and the options %j is refused",
    async (mapping, options, code, message) => {
      const modelMapping = { "series-*": "ep-*", ...mapping };
      const { gateway, sent } = createBench(makesImage, { modelMapping });
      await expect(gateway.probeChannel("c", options)).rejects.toMatchObject({
        code,
        message: expect.stringContaining(message),
      });
      expect(sent).toEqual([]);
    },
  );
});

describe("a model that needs several reference images", () => {
  it("is probed with as many, and does not keep the other models from being estimated", async () => {
    const models = {
      plain: { family: "seedream" },
      pair: { family: "seedream", capabilities: { references: { min: 2, max: 3 } } },
    };
    const channels = [{ id: "c", family: "seedream", apiKey: KEYS[0] }];
    const { gateway, sent } = createBench(makesImage, {}, { models, channels });
    expect(await gateway.estimateProbe("c")).toMatchObject({
      model: "plain",
      models: [{ model: "plain" }, { model: "pair" }],
    });
    expect(await gateway.probeChannel("c", { model: "pair" })).toMatchObject({ ok: true });
    expect(sent[0]?.["image"]).toHaveLength(2);
  });
});

function estimate(options: Partial<ChannelOptions>, tables?: PriceTables): ProbeEstimate {
  const family = options.family === "qwen-image" ? qwenImage : seedream;
  const channel = createChannel({ id: "c", family: family.name, apiKey: KEYS[0], ...options }, family);
  const prices = tables && createPriceList(tables);
  return estimateProbe(channel, { models: MODELS, capabilities: createCapabilityTable(), prices });
}

describe("estimateProbe", () => {
  it("lists the models that the channel serves, what a caller would be charged, and its series", () => {
    const prices = {
      model_details: { "seedream-4-5-251128": { pricing_mode: "per-request", model_price: "0.25" } },
    } as const;
    expect(estimate({ apiKey: ["a", "b"] }, prices)).toEqual({
      channel: "c",
      images: 2,
      model: "seedream-4-5-251128",
      models: [{ model: "seedream-4-5-251128", upstreamModel: "seedream-4-5-251128", charge: "0.25" }],
      series: ["series-*"],
    });
  });

  it("has the names of a series that only the mapping has, and no price without billing", () => {
    const modelMapping = { "image-2.0-pro-2026-03-03": "ep-pro" };
    const model = "image-2.0-pro-2026-03-03";
    expect(estimate({ family: "qwen-image", modelMapping })).toEqual({
      channel: "c",
      images: 1,
      model,
      models: [{ model, upstreamModel: "ep-pro", charge: null }],
      series: [],
    });
  });

  it("has no price for a model that is not priced, and prefers a model that needs no reference image", () => {
    expect(estimate({ family: "qwen-image" }, { model_details: {} })).toMatchObject({
      model: "image-max",
      models: [
        { model: "image-edit-max", charge: null },
        { model: "image-max", charge: null },
      ],
      series: ["image-2.0-pro*"],
    });
  });
});
