import { describe, expect, it } from "vitest";
import type { CallerLimits } from "./admission/caller-limits.js";
import type { GatewayOptions } from "./options.js";
import { createOpenStreams } from "./testing/open-streams.js";
import {
  ARK_ANSWER,
  CALLER_KEY,
  createPost,
  createTestGateway,
  type Provider,
} from "./testing/test-gateway.js";

const BODY = { model: "doodle", prompt: "a fox" };
const STREAM = { ...BODY, stream: true };
const OTHER_KEY = "caller-canary-60b2f8d5";
const asOther = { authorization: `Bearer ${OTHER_KEY}` };
const START = Date.UTC(2026, 10, 21);

/** A gateway with these limits for all, and those of the first caller. */
function open(
  limits: CallerLimits | undefined,
  own?: CallerLimits,
  options: Partial<GatewayOptions> = {},
  provider?: Provider,
) {
  const clock = { now: START };
  const opened = createTestGateway(
    provider,
    {
      limits,
      apiKeys: [
        { id: "me", key: CALLER_KEY, limits: own },
        { id: "you", key: OTHER_KEY },
      ],
      ...options,
    },
    { now: () => clock.now },
  );
  return { ...opened, clock };
}

/** A provider that answers when the test wants. */
function openSlowProvider() {
  const waiting: (() => void)[] = [];
  const provider: Provider = async () => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return Response.json(ARK_ANSWER);
  };
  return {
    provider,
    /** Answers all that wait, once so many do. */
    async answer(count: number): Promise<void> {
      while (waiting.length < count) await new Promise((resolve) => setTimeout(resolve));
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}

const statusesOf = (answers: readonly { readonly status: number }[]): readonly number[] =>
  answers.map(({ status }) => status);

function headersOf(headers: Headers, names: readonly string[]): Record<string, string | null> {
  return Object.fromEntries(names.map((name) => [name, headers.get(name)]));
}

describe("requests per minute", () => {
  it("stand in every answer, and past them comes a 429 that says when to come again", async () => {
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

  it("stand in answers of failures of the provider too", async () => {
    const { post } = open({ requestsPerMinute: 5 }, {}, {}, () => new Response("no", { status: 500 }));
    const { status, headers } = await post(BODY);
    expect(status).toBe(502);
    expect(headers.get("ratelimit")).toBe('"requests";r=4;t=60');
  });

  it("count neither what cannot be understood nor what is refused by another limit", async () => {
    const { post } = open({ requestsPerMinute: 2, imagesPerMinute: 4 });
    expect(statusesOf([await post({ model: "doodle" }), await post({ ...BODY, n: 5 })])).toEqual([400, 429]);
    const { headers } = await post({ ...BODY, n: 4 });
    expect(headers.get("ratelimit")).toBe('"requests";r=1;t=60, "images";r=0;t=60');
  });

  it("are each caller's own", async () => {
    const { post } = open({ requestsPerMinute: 1 });
    expect(statusesOf([await post(BODY), await post(BODY), await post(BODY, asOther)])).toEqual([
      200, 429, 200,
    ]);
  });
});

describe("images per minute", () => {
  it("count what a request may make, and say what is left", async () => {
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
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => post(BODY)));
    expect(statusesOf(answers).filter((status) => status === 200)).toHaveLength(passing);
  });

  it("a model's beside the others, for each caller and that model alone", async () => {
    const models = {
      doodle: { family: "seedream", callerLimits: { requestsPerMinute: 1 } },
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
});

describe("requests at once", () => {
  it("are as many as a caller may have, and the next passes when one has ended", async () => {
    const slow = openSlowProvider();
    const { post, calls } = open({ concurrent: 2 }, undefined, {}, slow.provider);
    const running = [post(BODY), post(BODY)];
    const refused = await post(BODY);
    expect(refused.status).toBe(429);
    expect(refused.body).toMatchObject({ error: { code: "rate_limit_exceeded", type: "rate_limit_error" } });
    expect(headersOf(refused.headers, ["retry-after", "ratelimit", "ratelimit-policy"])).toEqual({
      "retry-after": "1",
      ratelimit: '"concurrent";r=0',
      "ratelimit-policy": '"concurrent";q=2;qu="concurrent-requests"',
    });
    await slow.answer(2);
    expect(statusesOf(await Promise.all(running))).toEqual([200, 200]);
    const next = post(BODY);
    await slow.answer(1);
    expect((await next).status).toBe(200);
    expect(calls).toHaveLength(3);
  });

  it("of a model are its own", async () => {
    const slow = openSlowProvider();
    const models = {
      doodle: { family: "seedream", callerLimits: { concurrent: 1 } },
      "seedream-4-0-250828": { family: "seedream" },
    };
    const { post } = open(
      undefined,
      undefined,
      { models, channels: [{ id: "ark", family: "seedream", apiKey: "k" }] },
      slow.provider,
    );
    const running = [post(BODY), post({ ...BODY, model: "seedream-4-0-250828" })];
    const refused = await post(BODY);
    expect(refused.body).toMatchObject({
      error: { message: expect.stringContaining("to the model doodle") },
    });
    await slow.answer(2);
    expect(statusesOf(await Promise.all(running))).toEqual([200, 200]);
  });

  it.each<[string, object, Provider]>([
    ["fails", {}, () => new Response("no", { status: 500 })],
    ["breaks", {}, () => Promise.reject(new Error("broken"))],
    ["is refused for its body", { prompt: 7 }, () => Response.json(ARK_ANSWER)],
    ["is refused for its model", { model: "nothing" }, () => Response.json(ARK_ANSWER)],
  ])("a request that %s gives its place back", async (_what, changed, provider) => {
    const { post } = open({ concurrent: 1 }, undefined, {}, provider);
    const first = await post({ ...BODY, ...changed });
    const second = await post({ ...BODY, ...changed });
    expect(second.status).toBe(first.status);
    expect(second.status).not.toBe(429);
  });

  it("a stream is one of them until it ends", async () => {
    const streams = createOpenStreams();
    const { gateway, post } = open({ concurrent: 1 }, undefined, {}, streams.provider);
    const stream = await gateway.fetch(createPost(STREAM));
    expect(stream.status).toBe(200);
    expect((await post(STREAM)).status).toBe(429);
    streams.finish();
    await stream.text();
    expect((await gateway.fetch(createPost(STREAM))).status).toBe(200);
  });

  it("a stream whose client left is one of them until the provider's end was read", async () => {
    const streams = createOpenStreams();
    const { gateway, post, records } = open({ concurrent: 1 }, undefined, {}, streams.provider);
    const stream = await gateway.fetch(createPost(STREAM));
    await stream.body?.cancel();
    expect((await post(STREAM)).status).toBe(429);
    streams.finish();
    while (records.length === 0) await new Promise((resolve) => setTimeout(resolve));
    expect(records).toMatchObject([{ images: 1 }]);
    expect((await gateway.fetch(createPost(STREAM))).status).toBe(200);
  });

  it("a stream that breaks off gives its place back", async () => {
    const streams = createOpenStreams();
    const { gateway } = open({ concurrent: 1 }, undefined, {}, streams.provider);
    const stream = await gateway.fetch(createPost(STREAM));
    streams.breakOff();
    expect(await stream.text()).toContain("event: error");
    expect((await gateway.fetch(createPost(STREAM))).status).toBe(200);
  });
});

const sendAll = (post: (body: unknown) => Promise<{ readonly status: number }>) =>
  Promise.all(Array.from({ length: 1_000 }, () => post(BODY)));

describe("a thousand requests at once", () => {
  it("never run more at a time than are allowed", async () => {
    let running = 0;
    let most = 0;
    const { post } = open({ concurrent: 7 }, undefined, {}, async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve));
      running--;
      return Response.json(ARK_ANSWER);
    });
    const statuses = statusesOf(await sendAll(post));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(7);
    expect(most).toBe(7);
    expect((await post(BODY)).status).toBe(200);
  });

  it("are as many in a minute as are allowed", async () => {
    const { post, calls } = open({ requestsPerMinute: 100 });
    const statuses = statusesOf(await sendAll(post));
    expect(statuses.filter((status) => status === 200)).toHaveLength(100);
    expect(calls).toHaveLength(100);
  });
});

describe("a gateway that is attacked", () => {
  it.each(["__proto__", "constructor", "a".repeat(1_048_576), '"\\\n', "\uD800"])(
    "counts for a caller of any name: %#",
    async (id) => {
      const { post } = open({ requestsPerMinute: 1, imagesPerMinute: 9, concurrent: 1 }, undefined, {
        apiKeys: undefined,
        authenticate: () => ({ id }),
      });
      expect(statusesOf([await post(BODY), await post(BODY)])).toEqual([200, 429]);
    },
  );

  it("lets nobody pass whose limits cannot be read", async () => {
    const { post, calls, logs } = open(undefined, undefined, {
      apiKeys: undefined,
      authenticate: () => JSON.parse('{"id": "me", "limits": {"requestsPerMinute": "10"}}'),
    });
    expect((await post(BODY)).body).toMatchObject({ error: { code: "internal_error" } });
    expect(calls).toEqual([]);
    expect(logs).toMatchObject([
      { fields: { err: { message: expect.stringContaining("limits.requestsPerMinute") } } },
    ]);
  });

  it("stays whole where the clock runs backwards", async () => {
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
