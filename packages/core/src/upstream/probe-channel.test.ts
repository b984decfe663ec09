import { describe, expect, it } from "vitest";
import { createMemoryAdmissionStore } from "../admission/memory-store.js";
import { createPauses } from "../admission/pauses.js";
import { createPriceList } from "../billing/pricing.js";
import { createAttemptHistory } from "../channels/attempt-history.js";
import { type Channel, type ChannelOptions, createChannel } from "../channels/channel.js";
import { createChannelHealth } from "../channels/health.js";
import { DEFAULT_HEALTH_POLICY } from "../channels/health-record.js";
import { type ChannelStatus, describeChannel } from "../channels/status.js";
import { qwenImage } from "../families/qwen-image/qwen-image.js";
import { seedream } from "../families/seedream/seedream.js";
import { createCapabilityTable } from "../models/resolve-model.js";
import { createSecretMask } from "../redact.js";
import { ARK_RESPONSE, DASHSCOPE_RESPONSE, refusedConnection } from "../testing/test-gateway.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import { type ChannelProbeParts, estimateProbe, probeChannel } from "./probe-channel.js";
import { createFetchTransport } from "./transport-fetch.js";

interface Bench {
  readonly channel: Channel;
  readonly parts: ChannelProbeParts;
  readonly sent: JsonObject[];
}

const KEYS = ["canary-key-one", "canary-key-two"] as const;

function createBench(respond: (key: string) => Response, options: Partial<ChannelOptions> = {}): Bench {
  let now = 1_800_000_000_000;
  const family = options.family === "qwen-image" ? qwenImage : seedream;
  const channel = createChannel({ id: "c", family: family.name, apiKey: KEYS[0], ...options }, family);
  const sent: JsonObject[] = [];
  const transport = createFetchTransport(async (_url, init) => {
    now += 1_500;
    const body: unknown = JSON.parse(typeof init.body === "string" ? init.body : "");
    if (isJsonObject(body)) sent.push(body);
    return respond(new Headers(init.headers).get("authorization")?.slice("Bearer ".length) ?? "");
  });
  const parts: ChannelProbeParts = {
    models: {
      "series-*": { family: "seedream" },
      "seedream-4-5-251128": { family: "seedream" },
      "image-edit-max": { family: "qwen-image" },
      "image-max": { family: "qwen-image" },
      "image-2.0-pro*": { family: "qwen-image" },
    },
    capabilities: createCapabilityTable(),
    transport,
    logger: { warn: () => {}, error: () => {} },
    now: () => now,
    random: () => 0,
    sleep: async () => {},
    health: createChannelHealth(() => now, DEFAULT_HEALTH_POLICY),
    history: createAttemptHistory(() => now),
    mask: createSecretMask(KEYS),
    maxResponseBytes: 10_000,
  };
  return { channel, parts, sent };
}

function statusOf(channel: Channel, { health, history, logger, now }: ChannelProbeParts): ChannelStatus {
  const pauses = createPauses({ admission: createMemoryAdmissionStore(), now, logger });
  return describeChannel(channel, { health, history, pauses });
}

const makesImage = (): Response => Response.json(ARK_RESPONSE);

const makesImageInMessages = (): Response => Response.json(DASHSCOPE_RESPONSE);

function refuse(status: number, code: string, message = ""): Response {
  return Response.json({ error: { code, message } }, { status });
}

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
    const { channel, parts, sent } = createBench(makesImageInMessages, {
      family: "qwen-image",
      modelMapping,
    });
    expect(await probeChannel(channel, { model }, parts)).toMatchObject({ ok: true, model, upstreamModel });
    expect(sent).toEqual([
      {
        model: upstreamModel,
        input: { messages: [{ role: "user", content: [{ text: expect.stringMatching(/\S/) }] }] },
        parameters: expect.any(Object),
      },
    ]);
  });

  it("sends an image for a dated edit model", async () => {
    const { channel, parts, sent } = createBench(makesImageInMessages, { family: "qwen-image" });
    const models = { "image-edit*": { family: "qwen-image" } };
    const model = "image-edit-plus-2025-12-15";
    expect((await probeChannel(channel, { model }, { ...parts, models })).ok).toBe(true);
    expect(JSON.stringify(sent)).toContain("data:image/");
  });

  it("requests one image and returns the result", async () => {
    const { channel, parts, sent } = createBench(makesImage, {
      modelMapping: { "seedream-4-5-251128": "ep-1" },
    });
    expect(await probeChannel(channel, {}, parts)).toEqual({
      channel: "c",
      model: "seedream-4-5-251128",
      upstreamModel: "ep-1",
      ok: true,
      keys: [{ ok: true, index: 0, images: 1, usage: ARK_RESPONSE.usage, durationMs: 1_500 }],
    });
    expect(sent).toEqual([{ model: "ep-1", prompt: expect.any(String) }]);
  });

  it("reports no image if the response contains a failure, as for clients", async () => {
    const { channel, parts } = createBench(() =>
      Response.json({ ...ARK_RESPONSE, error: { code: "InternalServiceError", message: "No." } }),
    );
    expect(await probeChannel(channel, {}, parts)).toMatchObject({
      ok: false,
      keys: [{ ok: false, reason: "content", code: "InternalServiceError", message: "No." }],
    });
  });

  it("tries each key, and names the refused key", async () => {
    const { channel, parts } = createBench(
      (key) => (key === KEYS[1] ? refuse(401, "AuthenticationError", `No such key: ${key}`) : makesImage()),
      { apiKey: KEYS },
    );
    const test = await probeChannel(channel, {}, parts);
    expect(test).toMatchObject({
      ok: false,
      keys: [
        { ok: true, index: 0 },
        { ok: false, index: 1, reason: "credential", status: 401, code: "AuthenticationError" },
      ],
    });
    expect(JSON.stringify(test)).toContain("No such key: ***");
    expect(JSON.stringify(test)).not.toContain("canary");
    expect(statusOf(channel, parts)).toMatchObject({
      state: "ready",
      keys: [{ state: "ready" }, { state: "cooling", reason: "credential" }],
      errors: [{ kind: "credential", status: 401, code: "AuthenticationError", key: 1 }],
    });
    expect(statusOf(channel, parts).lastHour.at(-1)).toMatchObject({ attempts: 2, failures: 1 });
    expect(JSON.stringify(statusOf(channel, parts))).not.toContain("canary");
  });

  it("ends a cooldown when it succeeds, even before its end", async () => {
    const { channel, parts } = createBench(makesImage);
    const [key] = channel.keys;
    if (key === undefined) throw new Error("The channel has no key.");
    parts.health.begin({ channel, key, upstreamModel: "m" }, true).failed({ kind: "credential" });
    await probeChannel(channel, {}, parts);
    expect(statusOf(channel, parts)).toMatchObject({ state: "ready", errors: [] });
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
    const { channel, parts } = createBench(respond);
    const { ok, keys } = await probeChannel(channel, {}, parts);
    expect(ok).toBe(false);
    expect(keys).toMatchObject([{ ok: false, index: 0, durationMs: 1_500, ...expected }]);
  });

  it("uses the given model and fields", async () => {
    const { channel, parts, sent } = createBench(makesImage);
    const options = { model: "series-9", fields: { prompt: "A cat", size: "2K" } };
    expect(await probeChannel(channel, options, parts)).toMatchObject({ model: "series-9", ok: true });
    expect(sent).toEqual([{ model: "series-9", prompt: "A cat", size: "2K" }]);
  });

  it("sends an image if the channel serves only edit models", async () => {
    const dashscope = { family: "qwen-image" };
    const both = createBench(makesImageInMessages, dashscope);
    expect(await probeChannel(both.channel, {}, both.parts)).toMatchObject({ model: "image-max", ok: true });
    const edits = createBench(makesImageInMessages, {
      ...dashscope,
      modelMapping: { "image-edit*": "qwen-image-edit*" },
    });
    expect(await probeChannel(edits.channel, {}, edits.parts)).toMatchObject({
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
      const { channel, parts, sent } = createBench(makesImage, { modelMapping });
      await expect(probeChannel(channel, options, parts)).rejects.toMatchObject({
        code,
        message: expect.stringContaining(message),
      });
      expect(sent).toEqual([]);
    },
  );
});

describe("a model that needs several reference images", () => {
  it("is probed with as many, and does not keep the other models from being estimated", async () => {
    const { channel, parts, sent } = createBench(makesImage);
    const models = {
      plain: { family: "seedream" },
      pair: { family: "seedream", capabilities: { references: { min: 2, max: 3 } } },
    };
    const bench = { ...parts, models };
    expect(estimateProbe(channel, { ...bench, prices: undefined })).toMatchObject({
      model: "plain",
      models: [{ model: "plain" }, { model: "pair" }],
    });
    expect(await probeChannel(channel, { model: "pair" }, bench)).toMatchObject({ ok: true });
    expect(sent[0]?.["image"]).toHaveLength(2);
  });
});

describe("estimateProbe", () => {
  it("lists the models that the channel serves, what a caller would be charged, and its series", () => {
    const { channel, parts } = createBench(makesImage, { apiKey: ["a", "b"] });
    const prices = createPriceList({
      model_details: { "seedream-4-5-251128": { pricing_mode: "per-request", model_price: "0.25" } },
    });
    expect(estimateProbe(channel, { ...parts, prices })).toEqual({
      channel: "c",
      images: 2,
      model: "seedream-4-5-251128",
      models: [{ model: "seedream-4-5-251128", upstreamModel: "seedream-4-5-251128", charge: "0.25" }],
      series: ["series-*"],
    });
  });

  it("has the names of a series that only the mapping has, and no price without billing", () => {
    const modelMapping = { "image-2.0-pro-2026-03-03": "ep-pro" };
    const { channel, parts } = createBench(makesImage, { family: "qwen-image", modelMapping });
    const model = "image-2.0-pro-2026-03-03";
    expect(estimateProbe(channel, { ...parts, prices: undefined })).toEqual({
      channel: "c",
      images: 1,
      model,
      models: [{ model, upstreamModel: "ep-pro", charge: null }],
      series: [],
    });
  });

  it("has no price for a model that is not priced, and prefers a model that needs no reference image", () => {
    const { channel, parts } = createBench(makesImage, { family: "qwen-image" });
    const prices = createPriceList({ model_details: {} });
    expect(estimateProbe(channel, { ...parts, prices })).toMatchObject({
      model: "image-max",
      models: [
        { model: "image-edit-max", charge: null },
        { model: "image-max", charge: null },
      ],
      series: ["image-2.0-pro*"],
    });
  });

  it("names no model for a channel that serves series only", () => {
    const modelMapping = { "series-*": "ep" };
    const { channel, parts } = createBench(makesImage, { modelMapping });
    const estimate = estimateProbe(channel, { ...parts, prices: undefined });
    expect(estimate).toEqual({ channel: "c", images: 1, models: [], series: ["series-*"] });
  });
});
