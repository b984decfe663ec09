import { describe, expect, it } from "vitest";
import type { GatewayOptions } from "../gateway-options/options.js";
import {
  ARK_RESPONSE,
  createTestGateway,
  DASHSCOPE_RESPONSE,
  type TestGateway,
} from "../testing/test-gateway.js";

type FamilyName = "seedream" | "qwen-image";

/** The first channel responds with this body and status 200, the second one with an image by default. */
function createSite(
  family: FamilyName,
  first: () => Response,
  { second, now, ...options }: { second?: () => Response; now?: () => number } & Partial<GatewayOptions> = {},
): TestGateway & { used: () => string[] } {
  const success = family === "seedream" ? ARK_RESPONSE : DASHSCOPE_RESPONSE;
  const respondSecond = second ?? (() => Response.json(success));
  const gateway = createTestGateway(
    ({ headers }) => (headers.get("authorization") === "Bearer key-first" ? first() : respondSecond()),
    {
      models: { m: { family } },
      channels: [
        { id: "first", family, apiKey: "key-first", priority: 1 },
        { id: "second", family, apiKey: "key-second" },
      ],
      billing: { model_details: { m: { pricing_mode: "per-request", model_price: "0.1" } } },
      ...options,
    },
    now && { now },
  );
  const used = (): string[] =>
    gateway.calls.map(({ headers }) => headers.get("authorization")?.slice("Bearer ".length) ?? "");
  return { ...gateway, used };
}

const ark =
  (code: string, rest: object = {}) =>
  (): Response =>
    Response.json({ error: { code, message: "Because." }, ...rest });
const dashscope = (code: string) => (): Response =>
  Response.json({ code, message: "Because.", request_id: "b1a2" });

const body = { model: "m", prompt: "x" };

const SUCCESS_EVENTS = [
  { type: "image_generation.partial_succeeded", image_index: 0, url: "https://ark.test/1.png" },
  { type: "image_generation.completed", usage: { generated_images: 1 } },
]
  .map((event) => `data: ${JSON.stringify(event)}\n\n`)
  .join("");

describe("a 200 whose body is an error", () => {
  it.each<[FamilyName, string, () => Response, string]>([
    ["seedream", "AuthenticationError", ark("AuthenticationError"), "credential"],
    ["seedream", "AccountRateLimitExceeded", ark("AccountRateLimitExceeded"), "rate"],
    ["seedream", "QuotaExceeded", ark("QuotaExceeded"), "quota"],
    ["qwen-image", "InvalidApiKey", dashscope("InvalidApiKey"), "credential"],
    ["qwen-image", "Throttling", dashscope("Throttling"), "rate"],
  ])("of %s, %s, is sent again elsewhere, and the channel cools", async (family, code, first, reason) => {
    const site = createSite(family, first);
    for (let requests = 0; requests < 4; requests++) expect((await site.post(body)).status).toBe(200);
    expect(site.used()).toEqual(["key-first", ...Array.from({ length: 4 }, () => "key-second")]);
    expect(site.logs).toMatchObject([{ fields: { channel: "first", reason, status: 200, code } }]);
    expect(site.gateway.status().channels).toMatchObject([{ state: "cooling", reason }, { state: "ready" }]);
    expect(site.records.map(({ channel, charge }) => [channel, charge])).toEqual(
      Array.from({ length: 4 }, () => ["second", "0.1"]),
    );
  });

  it("of an overloaded channel cools it after three in a row, and of a model that model", async () => {
    const overloaded = createSite("seedream", ark("ServerOverloaded"));
    for (let requests = 0; requests < 5; requests++) expect((await overloaded.post(body)).status).toBe(200);
    expect(overloaded.used().filter((key) => key === "key-first")).toHaveLength(3);
    expect(overloaded.gateway.status().channels[0]).toMatchObject({ state: "cooling", reason: "overload" });
    const gone = createSite("qwen-image", dashscope("ModelNotFound"));
    expect((await gone.post(body)).status).toBe(200);
    expect(gone.gateway.status().channels[0]).toMatchObject({
      state: "ready",
      models: [{ reason: "model" }],
    });
  });

  it.each<[FamilyName, () => Response]>([
    ["seedream", ark("InternalServiceError")],
    ["qwen-image", dashscope("InternalError")],
  ])(
    "of %s that failed is not sent again, for an image may have been made; the channel cools in time",
    async (family, first) => {
      const site = createSite(family, first);
      for (let requests = 0; requests < 3; requests++) expect((await site.post(body)).status).toBe(502);
      expect(site.used()).toEqual(["key-first", "key-first", "key-first"]);
      expect((await site.post(body)).status).toBe(200);
    },
  );

  it.each<[FamilyName, () => Response]>([
    ["seedream", ark("OutputImageSensitiveContentDetected")],
    ["seedream", ark("SomethingNew")],
    ["qwen-image", dashscope("DataInspectionFailed")],
  ])("of %s about the content is the client's, and cools nothing", async (family, first) => {
    const site = createSite(family, first);
    for (let requests = 0; requests < 5; requests++) expect((await site.post(body)).status).toBe(502);
    expect(new Set(site.used())).toEqual(new Set(["key-first"]));
    expect(site.gateway.status().channels[0]).toMatchObject({ state: "ready", errors: [] });
    expect(site.logs).toEqual([]);
  });

  it.each([
    ["AuthenticationError", "credential", 1],
    ["ServerOverloaded", "overload", 3],
  ])("as an error event of a stream, %s, cools the channel too", async (code, reason, requests) => {
    const events = `event: error\ndata: ${JSON.stringify({ error: { code, message: "Because." } })}\n\n`;
    const stream = (): Response => new Response(events, { headers: { "content-type": "text/event-stream" } });
    const site = createSite("seedream", stream);

    for (let request = 0; request < requests; request++) {
      expect((await site.post({ ...body, stream: true })).text).toBe(events);
    }

    expect(site.gateway.status().channels).toMatchObject([{ state: "cooling", reason }, { state: "ready" }]);
    expect(site.logs.at(-1)).toMatchObject({ fields: { channel: "first", reason, status: 200, code } });
    expect(site.records.at(-1)).toMatchObject({
      charge: "0",
      errorCode: code,
      attempts: [{ channel: "first", code }],
    });
  });

  it("cools the channel also if it is labelled as the events that were requested", async () => {
    const site = createSite("seedream", () =>
      Response.json(
        { error: { code: "AuthenticationError", message: "Because." } },
        { headers: { "content-type": "text/event-stream" } },
      ),
    );
    await site.post({ ...body, stream: true });
    expect(site.gateway.status().channels[0]).toMatchObject({ state: "cooling", reason: "credential" });
    expect(site.records).toMatchObject([
      { charge: "0", errorCode: "AuthenticationError", attempts: [{ code: "AuthenticationError" }] },
    ]);
  });

  it("as an error event of a stream that is a probe makes the cooldown longer each time", async () => {
    const events = `event: error\ndata: ${JSON.stringify({ error: { code: "AuthenticationError", message: "Because." } })}\n\n`;
    let ms = 1_800_000_000_000;
    const site = createSite(
      "seedream",
      () => new Response(events, { headers: { "content-type": "text/event-stream" } }),
      { now: () => ms },
    );
    const probedAt: number[] = [];
    for (let second = 0; second < 100; second++, ms += 1_000) {
      const before = site.used().length;
      await site.post({ ...body, stream: true });
      if (site.used().slice(before).includes("key-first")) probedAt.push(second);
    }
    expect(probedAt).toEqual([0, 5, 15, 35, 75]);
  });

  it.each<[string, () => Response]>([
    ["a stream", () => new Response(SUCCESS_EVENTS, { headers: { "content-type": "text/event-stream" } })],
    ["a large response", () => Response.json({ ...ARK_RESPONSE, data: [{ b64_json: "A".repeat(200_000) }] })],
  ])("is over when a probe ends well: %s", async (_what, recovered) => {
    let ms = 1_800_000_000_000;
    let respond = ark("AuthenticationError");
    const site = createSite("seedream", () => respond(), { now: () => ms });
    await site.post(body);
    expect(site.gateway.status().channels[0]).toMatchObject({ state: "cooling" });
    respond = recovered;
    ms += 5_000;
    await site.post({ ...body, stream: true });
    expect(site.gateway.status().channels[0]).toMatchObject({ id: "first", state: "ready" });
    expect(site.records.at(-1)).toMatchObject({ channel: "first", charge: "0.1" });
  });

  it("as an error event after an image is not held against the channel", async () => {
    const image = {
      type: "image_generation.partial_succeeded",
      image_index: 0,
      url: "https://ark.test/1.png",
    };
    const events = [
      `data: ${JSON.stringify(image)}\n\n`,
      'event: error\ndata: {"error":{"code":"ServerOverloaded","message":"Because."}}\n\n',
    ].join("");
    const site = createSite(
      "seedream",
      () => new Response(events, { headers: { "content-type": "text/event-stream" } }),
    );

    for (let request = 0; request < 4; request++) await site.post({ ...body, stream: true });

    expect(site.gateway.status().channels[0]).toMatchObject({ state: "ready" });
  });

  it("of every channel is a 502 with the provider's code, and the unchanged body on the native endpoint", async () => {
    const overloaded = ark("ServerOverloaded");
    const everywhere = createSite("seedream", overloaded, { second: overloaded });
    const { status, body: envelope } = await everywhere.post(body);
    expect(status).toBe(502);
    expect(envelope).toMatchObject({ error: { code: "ServerOverloaded", message: "Because." } });
    const native = await everywhere.postNative(body);
    expect(native.status).toBe(200);
    expect(native.text).toBe('{"error":{"code":"ServerOverloaded","message":"Because."}}');
  });

  it.each<[string, () => Response]>([
    ["an error", () => Response.json({ error: { code: "InvalidParameter", message: "Not ep-1-abc." } })],
    [
      "a large error",
      () =>
        Response.json({
          pad: "x".repeat(100_000),
          error: { code: "InvalidParameter", message: "Not ep-1-abc." },
        }),
    ],
    [
      "an image that failed",
      () =>
        Response.json({
          ...ARK_RESPONSE,
          data: [...ARK_RESPONSE.data, { error: { code: "X", message: "Not ep-1-abc." } }],
        }),
    ],
  ])("names the client's model on /v1, and not the operator's endpoint: %s", async (_what, respond) => {
    const site = createSite("seedream", respond, {
      channels: [{ id: "first", family: "seedream", apiKey: "key-first", modelMapping: { m: "ep-1-abc" } }],
    });
    const { text } = await site.post(body);
    expect(text).toContain("Not m.");
    expect(text).not.toContain("ep-1-abc");
  });

  it("with reported usage is not sent again, and is charged for what was reported", async () => {
    const site = createSite("seedream", ark("ServerOverloaded", { usage: { generated_images: 1 } }));
    expect((await site.post(body)).status).toBe(502);
    expect(site.used()).toEqual(["key-first"]);
    expect(site.records).toMatchObject([{ channel: "first", charge: "0.1" }]);
  });

  it("of a family that throws while it reads is reported once, as before", async () => {
    const site = createSite(
      "seedream",
      () => new Response("<html>", { headers: { "content-type": "text/html" } }),
    );
    expect((await site.post(body)).body).toMatchObject({ error: { code: "upstream_invalid_response" } });
    expect(site.used()).toEqual(["key-first"]);
  });

  it("is found by gateway.test", async () => {
    const { gateway } = createSite("seedream", ark("AuthenticationError"));
    expect(await gateway.probeChannel("first")).toMatchObject({
      ok: false,
      keys: [{ reason: "credential", status: 200, code: "AuthenticationError", message: "Because." }],
    });
  });
});

describe("a successful response", () => {
  it.each([1, 100, 16_384, 16_385, 70_000, 300_000])(
    "that arrives in pieces of %i bytes is relayed unchanged",
    async (size) => {
      const image = "A".repeat(200_000);
      const text = JSON.stringify({ ...ARK_RESPONSE, data: [{ b64_json: image, size: "2048x2048" }] });
      const site = createSite("seedream", () => {
        const bytes = new TextEncoder().encode(size === 1 ? JSON.stringify(ARK_RESPONSE) : text);
        let sent = 0;
        return new Response(
          new ReadableStream({
            pull(controller) {
              controller.enqueue(bytes.slice(sent, sent + size));
              sent += size;
              if (sent >= bytes.length) controller.close();
            },
          }),
          { headers: { "content-type": "application/json" } },
        );
      });
      const { status, body: received } = await site.post(body);
      expect(status).toBe(200);
      expect(received["data"]).toEqual(
        size === 1 ? ARK_RESPONSE.data : [{ b64_json: image, size: "2048x2048" }],
      );
    },
  );
});
