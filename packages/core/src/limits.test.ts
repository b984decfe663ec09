import { describe, expect, it } from "vitest";
import type { GatewayOptions } from "./gateway-options/options.js";
import { headersOf, OTHER_KEY, openLimited, statusesOf } from "./testing/limited-gateway.js";
import type { Provider, ReadResponse } from "./testing/test-gateway.js";
import type { CallerLimits } from "./types.js";

const BODY = { model: "doodle", prompt: "a fox" };
const asOther = { authorization: `Bearer ${OTHER_KEY}` };

const open = (
  limits: CallerLimits | undefined,
  own?: CallerLimits,
  options?: Partial<GatewayOptions>,
  provider?: Provider,
) => openLimited({ limits, own, options, provider });

const sendAll = (post: (body: unknown) => Promise<{ readonly status: number }>) =>
  Promise.all(Array.from({ length: 1_000 }, () => post(BODY)));

describe("requests per minute", () => {
  it("are in the headers of every response, and above them there is a 429 with the time to wait", async () => {
    const { post, clock, calls, records } = open({ requestsPerMinute: 2 });
    const first = await post(BODY);
    expect(first.status).toBe(200);
    expect(headersOf(first.headers, ["ratelimit", "ratelimit-policy"])).toEqual({
      ratelimit: '"requests";r=1;t=60',
      "ratelimit-policy": '"requests";q=2;w=60',
    });
    expect(first.headers.get("x-ratelimit-remaining-requests")).toBe("1");
    clock.now += 19_001;
    await post(BODY);
    const refused = await post(BODY);
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual({
      error: {
        message: "The limit of 2 requests per minute is reached: try again in 41 s.",
        type: "rate_limit_error",
        code: "rate_limit_exceeded",
        param: null,
      },
    });
    expect(Object.fromEntries(refused.headers)).toEqual({
      "cache-control": "no-store",
      "content-type": "application/json",
      ratelimit: '"requests";r=0;t=41',
      "ratelimit-policy": '"requests";q=2;w=60',
      "retry-after": "41",
      "x-ratelimit-limit-requests": "2",
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "40.999s",
      "x-request-id": expect.any(String),
    });
    expect([calls.length, records.length]).toEqual([2, 2]);

    clock.now += 40_999;
    expect((await post(BODY)).status).toBe(200);
  });

  it("are also in the headers of responses about failures of the provider", async () => {
    const { post } = open({ requestsPerMinute: 5 }, {}, {}, () => new Response("no", { status: 500 }));
    const { status, headers } = await post(BODY);
    expect(status).toBe(502);
    expect(headers.get("ratelimit")).toBe('"requests";r=4;t=60');
  });

  it("count neither invalid requests nor requests that another limit refuses", async () => {
    const { post } = open({ requestsPerMinute: 2, imagesPerMinute: 4 });
    expect(statusesOf([await post({ model: "doodle" }), await post({ ...BODY, n: 5 })])).toEqual([400, 429]);
    const { headers } = await post({ ...BODY, n: 4 });
    expect(headers.get("ratelimit")).toBe('"requests";r=1;t=60, "images";r=0;t=60');
  });

  it("are as many as are allowed, of a thousand at once", async () => {
    const { post, calls } = open({ requestsPerMinute: 100 });
    const statuses = statusesOf(await sendAll(post));
    expect(statuses.filter((status) => status === 200)).toHaveLength(100);
    expect(calls).toHaveLength(100);
  });

  it("are each caller's own", async () => {
    const { post } = open({ requestsPerMinute: 1 });
    expect(statusesOf([await post(BODY), await post(BODY), await post(BODY, asOther)])).toEqual([
      200, 429, 200,
    ]);
  });
});

describe("images per minute", () => {
  it("count the maximum number of images of a request, and report the rest", async () => {
    const { post } = open({ imagesPerMinute: 5 });
    expect((await post({ ...BODY, n: 4 })).headers.get("x-ratelimit-remaining-images")).toBe("1");
    const refused = await post({ ...BODY, n: 2 });
    expect(refused.body).toMatchObject({
      error: {
        message:
          "The limit of 5 images per minute is reached (this request may make 2, 1 are left): try again in 60 s.",
      },
    });
    expect((await post(BODY)).status).toBe(200);
  });

  it("count every layer that a decomposition may make", async () => {
    const { post } = open({ imagesPerMinute: 120 });
    const layers = { ...BODY, layer_decomposition: true };
    expect((await post(layers)).headers.get("ratelimit")).toBe('"images";r=20;t=60');
    expect((await post(layers)).status).toBe(429);
  });

  it("that no minute will ever allow are refused for good", async () => {
    const { post } = open({ imagesPerMinute: 3 });
    const { status, headers } = await post({ ...BODY, n: 4 });
    expect(status).toBe(429);
    expect(headersOf(headers, ["retry-after", "x-should-retry"])).toEqual({
      "retry-after": null,
      "x-should-retry": "false",
    });
  });
});

describe("whose limits count", () => {
  it.each<[string, CallerLimits, number]>([
    ["a caller's own over the gateway's", { requestsPerMinute: 3 }, 3],
    ["the gateway's where the caller has another", { imagesPerMinute: 50 }, 2],
    ["none where null lifts the gateway's", { requestsPerMinute: null }, 5],
  ])("%s", async (_what, own, passing) => {
    const { post } = open({ requestsPerMinute: 2 }, own);
    const responses = await Promise.all([1, 2, 3, 4, 5].map(() => post(BODY)));
    expect(statusesOf(responses).filter((status) => status === 200)).toHaveLength(passing);
  });

  it("a model's beside the others, for each caller and that model alone", async () => {
    const models = {
      doodle: { family: "seedream", limits: { requestsPerMinute: 1 } },
      "image-plus": { family: "qwen-image" },
    };
    const { post } = open({ requestsPerMinute: 10 }, undefined, { models });
    const first = await post(BODY);
    expect(first.headers.get("ratelimit")).toBe('"requests";r=9;t=60, "model-requests";r=0;t=60');
    expect(first.headers.get("x-ratelimit-limit-requests")).toBe("1");
    const second = await post(BODY);
    expect(second.body).toMatchObject({
      error: { message: expect.stringContaining("1 requests per minute to the model doodle") },
    });
    const elsewhere = await post({ model: "image-plus", prompt: "x" });
    expect([elsewhere.status, (await post(BODY, asOther)).status]).toEqual([200, 200]);
  });

  it("of a series count all its names together, except those with their own entry", async () => {
    const limits = { requestsPerMinute: 2 };
    const models = {
      "image-2.0*": { family: "qwen-image", limits },
      "image-2.0-pro": { family: "qwen-image", limits },
    };
    const { post } = open({}, undefined, { models });
    const ask = (model: string): Promise<ReadResponse> => post({ model, prompt: "x" });
    const responses = [await ask("image-2.0-a"), await ask("image-2.0-b"), await ask("image-2.0-c")];
    expect(statusesOf(responses)).toEqual([200, 200, 429]);
    expect(responses[2]?.body).toMatchObject({
      error: { message: expect.stringContaining("2 requests per minute to the model image-2.0*") },
    });
    expect((await ask("image-2.0-pro")).status).toBe(200);
  });
});

describe("a gateway that is attacked", () => {
  it.each(["__proto__", "constructor", "a".repeat(512), '"\\\n'])(
    "counts for a caller of any name: %#",
    async (id) => {
      const { post } = open({ requestsPerMinute: 1, imagesPerMinute: 9, concurrent: 1 }, undefined, {
        callers: undefined,
        authenticate: () => ({ id }),
      });
      expect(statusesOf([await post(BODY), await post(BODY)])).toEqual([200, 429]);
    },
  );

  it("refuses a caller whose limits cannot be read", async () => {
    const { post, calls, logs } = open(undefined, undefined, {
      callers: undefined,
      authenticate: () => JSON.parse('{"id": "me", "limits": {"requestsPerMinute": "10"}}'),
    });
    expect((await post(BODY)).body).toMatchObject({ error: { code: "internal_error" } });
    expect(calls).toEqual([]);
    expect(logs).toMatchObject([
      { fields: { err: { message: expect.stringContaining("limits.requestsPerMinute") } } },
    ]);
  });

  it("has its full length if the clock runs backwards", async () => {
    const { post, clock, records } = open({ requestsPerMinute: 3, imagesPerMinute: 10, concurrent: 1 });
    const texts: string[] = [];
    const waits: number[] = [];
    for (let request = 0; request < 8; request++) {
      clock.now -= 3_600_000;
      const { status, headers } = await post(BODY, { "idempotency-key": `key-${request}` });
      expect(status).toBe(request < 3 ? 200 : 429);
      texts.push(JSON.stringify([...headers]));
      waits.push(Number(headers.get("retry-after") ?? 1));
    }
    expect(texts.filter((text) => /NaN|Infinity|=-|"-\d/.test(text))).toEqual([]);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(1);
    expect(Math.max(...waits)).toBeLessThanOrEqual(60);
    expect(records.map(({ durationMs }) => durationMs)).toEqual([0, 0, 0]);
    clock.now += 60_000;
    expect((await post(BODY)).status).toBe(200);
  });
});
