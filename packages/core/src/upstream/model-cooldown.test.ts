import { describe, expect, it } from "vitest";
import { createMemoryAdmissionStore } from "../features/limits/memory-store.js";
import type { GatewayOptions } from "../gateway-options/options.js";
import {
  ARK_RESPONSE,
  createTestGateway,
  DASHSCOPE_RESPONSE,
  type TestGateway,
} from "../testing/test-gateway.js";

type Refuse = (call: { readonly key: string; readonly model: string }) => Response | undefined;

const refused = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  Response.json({ error: { code, message: "Because." } }, { status, headers });

const gone = (): Response => refused(404, "InvalidEndpointOrModel.NotFound");

/** The channel `first` does not serve the model `m`. */
const refuseFirst: Refuse = ({ key, model }) => (key === "key-first" && model === "m" ? gone() : undefined);

interface Site extends TestGateway {
  readonly pass: (ms: number) => void;
  /** The keys of the calls so far. */
  readonly used: () => string[];
}

const keyOf = (headers: Headers): string => headers.get("authorization")?.slice("Bearer ".length) ?? "";

/** Models `m` and `other` on the channels `first` and `second`. */
function createSite(refuse: Refuse, options: Partial<GatewayOptions> = {}): Site {
  let now = 1_800_000_000_000;
  const gateway = createTestGateway(
    ({ headers, body }) =>
      refuse({ key: keyOf(headers), model: String(body["model"]) }) ?? Response.json(ARK_RESPONSE),
    {
      models: { m: { family: "seedream" }, other: { family: "seedream" } },
      channels: [
        { id: "first", family: "seedream", apiKey: "key-first", priority: 1 },
        { id: "second", family: "seedream", apiKey: "key-second" },
      ],
      billing: undefined,
      ...options,
    },
    { now: () => now },
  );
  return {
    ...gateway,
    pass: (ms) => void (now += ms),
    used: () => gateway.calls.map(({ headers }) => keyOf(headers)),
  };
}

const post = (site: TestGateway, model = "m") => site.post({ model, prompt: "x" });

describe("a model that one channel does not serve", () => {
  it.each<[number, string, string]>([
    [404, "InvalidEndpointOrModel.NotFound", "model"],
    [400, "InvalidEndpoint.ClosedEndpoint", "model"],
    [404, "UnsupportedModel", "model"],
    [404, "", "model"],
    [404, "ModelNotOpen", "credential"],
    [403, "OperationDenied.ServiceNotOpen", "credential"],
    [429, "ModelAccountIpmRateLimitExceeded", "rate"],
  ])(
    "after %i %s is served by another, and the channel serves its other models",
    async (status, code, reason) => {
      const site = createSite(({ key, model }) =>
        key === "key-first" && model === "m" ? refused(status, code) : undefined,
      );
      for (let requests = 0; requests < 5; requests++) expect((await post(site)).status).toBe(200);
      expect((await post(site, "other")).status).toBe(200);
      expect(site.used()).toEqual([
        "key-first",
        ...Array.from({ length: 5 }, () => "key-second"),
        "key-first",
      ]);
      expect(site.gateway.status().channels).toMatchObject([
        { id: "first", state: "ready", models: [{ upstreamModel: "m", state: "cooling", reason }] },
        { id: "second", state: "ready" },
      ]);
      expect(site.gateway.status().channels[1]).not.toHaveProperty("models");
    },
  );

  it("is logged once when it begins to cool, once for each probe that fails, and once when it is served again", async () => {
    let isGone = true;
    const site = createSite(({ key }) => (isGone && key === "key-first" ? gone() : undefined));
    for (let requests = 0; requests < 5; requests++) await post(site);
    expect(site.logs).toMatchObject([
      {
        level: "warn",
        message: "A channel does not serve a model at the moment.",
        fields: { channel: "first", upstreamModel: "m", reason: "model", status: 404 },
      },
    ]);
    site.pass(5_000);
    for (let requests = 0; requests < 5; requests++) await post(site);
    expect(site.logs).toHaveLength(2);
    isGone = false;
    site.pass(10_000);
    for (let requests = 0; requests < 5; requests++) await post(site);
    expect(site.logs.slice(2)).toMatchObject([
      { message: "A channel serves a model again.", fields: { channel: "first", upstreamModel: "m" } },
    ]);
    expect(site.used().slice(-5)).toEqual(Array.from({ length: 5 }, () => "key-first"));
    expect(site.gateway.status().channels[0]).toMatchObject({ id: "first", state: "ready" });
    expect(site.gateway.status().channels[0]).not.toHaveProperty("models");
  });

  it("and no other channel serves gets the provider's status, code and message", async () => {
    const site = createSite(gone);
    for (let requests = 0; requests < 3; requests++) {
      const { status, body } = await post(site);
      expect(status).toBe(404);
      expect(body).toMatchObject({
        error: {
          code: "InvalidEndpointOrModel.NotFound",
          message: "Because.",
          type: "invalid_request_error",
        },
      });
    }
    // One line for each channel, although each request was refused.
    expect(site.logs).toHaveLength(2);
    const native = await site.postNative({ model: "m", prompt: "x" });
    expect(native.status).toBe(404);
    expect(native.body).toEqual({ error: { code: "InvalidEndpointOrModel.NotFound", message: "Because." } });
  });

  it("and is over its rate on another channel gets the 429, because that is temporary", async () => {
    const codes: Record<string, Response> = {
      "key-first": refused(429, "AccountRateLimitExceeded"),
      "key-second": gone(),
    };
    expect((await post(createSite(({ key }) => codes[key]))).status).toBe(429);
  });

  it("is not requested with any key of the channel if it does not exist", async () => {
    const site = createSite(({ key }) => (key === "key-other" ? undefined : gone()), {
      channels: [
        { id: "several", family: "seedream", apiKey: ["key-a", "key-b", "key-c"], priority: 1 },
        { id: "other", family: "seedream", apiKey: "key-other" },
      ],
    });
    for (let requests = 0; requests < 3; requests++) expect((await post(site)).status).toBe(200);
    expect(site.used()).toEqual(["key-a", "key-other", "key-other", "key-other"]);
    expect(site.gateway.status().channels[0]?.models).toMatchObject([{ key: 0 }, { key: 1 }, { key: 2 }]);
  });

  it("is not requested with one key if the limit or the refusal belongs to the key's account", async () => {
    const site = createSite(
      ({ key }) => (key === "key-a" ? refused(429, "ModelAccountIpmRateLimitExceeded") : undefined),
      { channels: [{ id: "several", family: "seedream", apiKey: ["key-a", "key-b"] }] },
    );
    for (let requests = 0; requests < 3; requests++) expect((await post(site)).status).toBe(200);
    expect(site.used()).toEqual(["key-a", "key-b", "key-b", "key-b"]);
    expect(site.gateway.status().channels).toMatchObject([
      {
        state: "ready",
        keys: [{ state: "ready" }, { state: "ready" }],
        models: [{ key: 0, reason: "rate" }],
      },
    ]);
  });

  it("cools for the provider's retry-after when its limit is reached", async () => {
    const site = createSite(({ key }) =>
      key === "key-first"
        ? refused(429, "ModelAccountRpmRateLimitExceeded", { "retry-after": "30" })
        : undefined,
    );
    await post(site);
    site.pass(29_999);
    await post(site);
    site.pass(1);
    await post(site);
    expect(site.used()).toEqual(["key-first", "key-second", "key-second", "key-first", "key-second"]);
  });

  it("cools on after a reload that leaves the channel as it is", async () => {
    let apiKey = "key-first";
    const site = createSite(({ key }) => (key === "key-first" ? gone() : undefined), {
      channels: () => [{ id: "c", family: "seedream", apiKey }],
    });
    expect((await post(site)).status).toBe(404);
    await site.gateway.reload();
    expect(site.gateway.status().channels).toMatchObject([{ id: "c", models: [{ state: "cooling" }] }]);
    apiKey = "key-new";
    await site.gateway.reload();
    expect(site.gateway.status().channels).toMatchObject([{ id: "c", state: "ready" }]);
    expect(site.gateway.status().channels[0]).not.toHaveProperty("models");
  });

  it("cools in every gateway that shares the store", async () => {
    const admission = createMemoryAdmissionStore({ now: () => 1_800_000_000_000 });
    const [one, two] = [createSite(refuseFirst, { admission }), createSite(refuseFirst, { admission })];
    await post(one);
    await post(two);
    expect(two.used()).toEqual(["key-second"]);
    const states = (site: typeof one) =>
      site.gateway.status().channels.map(({ state, models }) => ({ state, models }));
    expect(states(two)).toEqual(states(one));
    await post(two, "other");
    expect(two.used()).toEqual(["key-second", "key-first"]);
  });
});

describe("the names of a series", () => {
  const channels = [{ id: "bailian", family: "qwen-image", apiKey: "key-first" }];

  it("cool separately: a client that invents names does not affect others", async () => {
    const site = createTestGateway(
      ({ body }) =>
        body["model"] === "image-edit-max"
          ? Response.json(DASHSCOPE_RESPONSE)
          : Response.json({ code: "ModelNotFound", message: "No." }, { status: 404 }),
      { models: { "image-edit*": { family: "qwen-image" } }, channels, billing: undefined },
    );
    const send = async (model: string): Promise<number> =>
      (await site.post({ model, prompt: "x", image: "https://example.com/a.png" })).status;
    expect(await send("image-edit-unknown")).toBe(404);
    expect(site.gateway.status().channels[0]?.models).toMatchObject([
      { upstreamModel: "image-edit-unknown" },
    ]);
    expect(await send("image-edit-max")).toBe(200);
  });

  it("are limited in number, and never sent to the store", async () => {
    const told: string[] = [];
    const asked = new Set<string>();
    const store = createMemoryAdmissionStore();
    const site = createTestGateway(
      () => Response.json({ code: "ModelNotFound", message: "No." }, { status: 404 }),
      {
        models: { "image-edit*": { family: "qwen-image" } },
        channels,
        billing: undefined,
        admission: {
          admit(request) {
            for (const id of request.channels) asked.add(id);
            return store.admit(request);
          },
          finish: (request, outcome) => store.finish(request, outcome),
          async setCooldown(id) {
            told.push(id);
          },
        },
      },
    );
    for (let index = 0; index < 1_050; index++) {
      await site.post({ model: `image-edit-${index}`, prompt: "x", image: "https://example.com/a.png" });
    }
    expect(site.gateway.status().channels[0]?.models).toHaveLength(1_000);
    expect(told).toEqual([]);
    // The health of the channel.
    expect(asked.size).toBe(1);
  });

  it("are sent to the store if the mapping contains the provider's name", async () => {
    const told: string[] = [];
    const store = createMemoryAdmissionStore();
    const site = createTestGateway(
      () => Response.json({ code: "ModelNotFound", message: "No." }, { status: 404 }),
      {
        models: { "image-edit*": { family: "qwen-image" } },
        channels: [
          {
            ...channels[0],
            id: "c",
            family: "qwen-image",
            apiKey: "k",
            modelMapping: { "image-edit*": "one" },
          },
        ],
        billing: undefined,
        admission: {
          admit: (request) => store.admit(request),
          finish: (request, outcome) => store.finish(request, outcome),
          setCooldown: async (id) => void told.push(id),
        },
      },
    );
    await site.post({ model: "image-edit-a", prompt: "x", image: "https://example.com/a.png" });
    expect(told).toEqual([expect.stringMatching(/^c@[0-9a-f]{16}\/one$/)]);
  });
});

describe("an outage of one model", () => {
  it("takes no retries from another model", async () => {
    const site = createSite(
      ({ key, model }) => {
        if (model === "m") return refused(503, "ServerOverloaded");
        return key === "key-x" ? refused(503, "ServerOverloaded") : undefined;
      },
      {
        channels: [
          { id: "a", family: "seedream", apiKey: "key-a", modelMapping: { m: "m" } },
          { id: "b", family: "seedream", apiKey: "key-b", modelMapping: { m: "m" } },
          { id: "x", family: "seedream", apiKey: "key-x", modelMapping: { other: "other" }, priority: 1 },
          { id: "y", family: "seedream", apiKey: "key-y", modelMapping: { other: "other" } },
        ],
      },
    );
    for (let requests = 0; requests < 40; requests++) expect((await post(site)).status).toBe(502);
    for (let requests = 0; requests < 20; requests++) expect((await post(site, "other")).status).toBe(200);
  });
});
