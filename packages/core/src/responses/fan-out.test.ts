import { describe, expect, it, vi } from "vitest";
import type { Family } from "../families/family.js";
import { qwenImage } from "../families/index.js";
import { createMemoryLedger } from "../features/memory-ledger/memory-ledger.js";
import type { GatewayOptions } from "../gateway-options/options.js";
import type { ModelOptions } from "../models/resolve-model.js";
import {
  ARK_RESPONSE,
  createPost,
  createTestGateway,
  type Provider,
  readResponse,
  refusedConnection,
} from "../testing/test-gateway.js";

const BODY = { model: "image-max", prompt: "a fox" };
const BILLING = { model_details: { "*": { pricing_mode: "per-request", model_price: "0.25" } } } as const;

const ONE_CHANNEL = [{ id: "bailian", family: "qwen-image", apiKey: "sk-first-key-000000" }];

/** A response with image number `number`. */
function image(number: number, usage: object = { image_count: 1 }): Response {
  const content = [{ image: `https://dashscope.test/${number}.png` }];
  return Response.json({
    output: { choices: [{ message: { role: "assistant", content } }] },
    usage,
    request_id: `id-${number}`,
  });
}

function refusal(status: number, code: string): Response {
  return Response.json({ code, message: `${code}.`, request_id: `id-${code}` }, { status });
}

/** A provider that responds to its calls by their number, from 0. */
function scripted(respond: (number: number) => Response | Promise<Response>): Provider {
  let calls = 0;
  return () => respond(calls++);
}

function open(provider: Provider, options: Partial<GatewayOptions> = {}) {
  return createTestGateway(provider, { billing: BILLING, ...options });
}

/** A provider whose calls wait until the test lets them respond. */
function waiting() {
  const calls: ((response: Response | Error) => void)[] = [];
  const provider: Provider = () =>
    new Promise((resolve, reject) => {
      calls.push((response) => (response instanceof Error ? reject(response) : resolve(response)));
    });
  const arrived = (count: number) => vi.waitFor(() => expect(calls).toHaveLength(count));
  return { calls, provider, arrived };
}

describe("a request for several images of a model that makes one per call", () => {
  it("gets the images of as many calls, with the fields of the first", async () => {
    const { post, calls, records } = open(scripted(image));
    const { status, body, headers } = await post({ ...BODY, n: 3, size: "1328x1328" });

    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json");
    expect(body).toEqual({
      created: expect.any(Number),
      data: [0, 1, 2].map((number) => ({ url: `https://dashscope.test/${number}.png`, revised_prompt: "" })),
      extra: { request_id: "id-0" },
    });
    expect(Math.abs(Number(body["created"]) - Date.now() / 1000)).toBeLessThan(60);
    expect(calls.map((call) => call.body["parameters"])).toEqual(
      [0, 1, 2].map(() => ({ size: "1328*1328" })),
    );
    expect(records).toMatchObject([
      {
        images: 3,
        charge: "0.75",
        status: 200,
        channel: "bailian",
        usage: { generated_images: 3 },
        upstreamRequestId: "id-0",
        upstreamRequestIds: ["id-0", "id-1", "id-2"],
        attempts: [0, 1, 2].map((call) => ({ call, channel: "bailian", key: 0, status: 200 })),
      },
    ]);
  });

  it("gets the images in the order of the calls, however they end", async () => {
    const { calls, provider, arrived } = waiting();
    const { post } = open(provider);
    const response = post({ ...BODY, n: 3 });
    await arrived(3);
    calls[2]?.(image(2));
    calls[0]?.(image(0));
    calls[1]?.(image(1));
    const { body } = await response;
    expect(body["data"]).toMatchObject([0, 1, 2].map((n) => ({ url: `https://dashscope.test/${n}.png` })));
  });

  it("makes at most four calls at once, and the next one when one has ended", async () => {
    const { calls, provider, arrived } = waiting();
    const { post } = open(provider);
    const response = post({ ...BODY, n: 6 });
    await arrived(4);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(calls).toHaveLength(4);
    calls[1]?.(image(1));
    await arrived(5);
    calls[0]?.(image(0));
    await arrived(6);
    for (const number of [2, 3, 4, 5]) calls[number]?.(image(number));
    expect((await response).body["data"]).toHaveLength(6);
  });

  it("ends the attempt of each call in telemetry", async () => {
    let running = 0;
    const { post } = createTestGateway(scripted(image), {
      telemetry: {
        callStarted: () => ({
          attemptStarted() {
            running++;
            return { ended: () => void running-- };
          },
        }),
      },
    });
    expect((await post({ ...BODY, n: 3 })).status).toBe(200);
    expect(running).toBe(0);
  });

  it("sends no further call after the gateway itself has failed, and ends after the calls that run", async () => {
    const { calls, provider, arrived } = waiting();
    const failing: Family = {
      ...qwenImage,
      name: "failing",
      raiseSeed(fields, index) {
        if (index === 4) throw new Error("A defect.");
        return fields;
      },
    };
    const { post } = open(provider, {
      families: [failing],
      models: { "image-max": { family: "failing" } },
      channels: [{ id: "bailian", family: "failing", apiKey: "sk-first-key-000000" }],
    });
    let hasEnded = false;
    const response = post({ ...BODY, n: 8 }).finally(() => (hasEnded = true));
    await arrived(4);
    for (const number of [0, 1, 2]) {
      calls[number]?.(image(number));
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect([calls.length, hasEnded]).toEqual([4, false]);
    }
    calls[3]?.(image(3));
    expect((await response).status).toBe(500);
    expect(calls).toHaveLength(4);
  });

  it("sends each call its own seed", async () => {
    const { post, calls } = open(scripted(image));
    await post({ ...BODY, n: 3, seed: 2_147_483_646 });
    expect(calls.map((call) => call.body["parameters"])).toEqual([
      { seed: 2_147_483_646 },
      { seed: 2_147_483_647 },
      { seed: 0 },
    ]);
  });

  it("counts one image for a call without a count", async () => {
    const { post, records } = open(
      scripted((number) => image(number, number === 1 ? {} : { image_count: 1 })),
    );
    await post({ ...BODY, n: 3 });
    expect(records).toMatchObject([{ images: 3, charge: "0.75", usage: { generated_images: 3 } }]);
  });

  it("gets the images of the calls that succeed, and a list of those that failed", async () => {
    const { post, records } = open(
      scripted((number) => (number === 1 ? refusal(400, "DataInspectionFailed") : image(number))),
    );
    const { status, body } = await post({ ...BODY, n: 3 });
    expect(status).toBe(200);
    expect(body["data"]).toMatchObject([0, 2].map((n) => ({ url: `https://dashscope.test/${n}.png` })));
    expect(body["extra"]).toEqual({
      request_id: "id-0",
      errors: [{ index: 1, code: "DataInspectionFailed", message: "DataInspectionFailed." }],
    });
    expect(records).toMatchObject([
      {
        images: 2,
        charge: "0.5",
        upstreamRequestIds: ["id-0", "id-DataInspectionFailed", "id-2"],
        attempts: [{ call: 0 }, { call: 1, code: "DataInspectionFailed" }, { call: 2 }],
      },
    ]);
    expect(records[0]).not.toHaveProperty("errorCode");
  });

  it("gets the error of the first call if none makes an image", async () => {
    const errors: unknown[] = [];
    const { post, records } = open(
      scripted((number) =>
        number === 0 ? refusal(400, "InvalidParameter") : refusal(400, "DataInspectionFailed"),
      ),
      { onError: (event) => errors.push(event) },
    );
    const { status, body, headers } = await post({ ...BODY, n: 2 });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: { code: "InvalidParameter", upstream_request_id: "id-InvalidParameter" },
    });
    expect(headers.get("x-should-retry")).toBeNull();
    expect(records).toMatchObject([{ status: 400, errorCode: "InvalidParameter", images: 0, charge: "0" }]);
    expect(errors).toMatchObject([{ error: { status: 400 }, attempts: [{ call: 0 }, { call: 1 }] }]);
  });

  it("is not to be repeated if a call that is not shown may have made an image", async () => {
    const { post, records } = open(
      scripted((number) => (number === 0 ? refusal(429, "Throttling") : refusal(500, "InternalError"))),
    );
    const { status, headers } = await post({ ...BODY, n: 2 });
    expect(status).toBe(429);
    expect(headers.get("x-should-retry")).toBe("false");
    expect(headers.get("retry-after")).not.toBeNull();
    expect(records).toMatchObject([{ status: 429, errorCode: "Throttling" }]);
  });

  it("leaves no record and no hold if no call reaches a provider", async () => {
    const { post, records, gateway } = open(() => {
      throw refusedConnection();
    });
    expect((await post({ ...BODY, n: 3 })).status).toBe(502);
    expect(records).toEqual([]);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0" });
  });

  it("charges a call that reports an image and has none, and lists it as failed", async () => {
    const { post, records } = open(
      scripted((number) =>
        number === 0
          ? image(0)
          : Response.json({ output: { choices: [] }, usage: { image_count: 1 }, request_id: "b" }),
      ),
    );
    const { body } = await post({ ...BODY, n: 2 });
    expect(body["extra"]).toMatchObject({ errors: [{ index: 1, code: "upstream_no_image" }] });
    expect(records).toMatchObject([{ images: 1, charge: "0.5", usage: { generated_images: 2 } }]);
  });

  it("delivers an image although another call breaks off, is no JSON or is compressed", async () => {
    const broken = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"output":'));
        controller.error(new Error("reset"));
      },
    });
    const { post, records } = open(
      scripted((number) => {
        const others = [
          new Response(broken, { headers: { "content-type": "application/json" } }),
          new Response("<html>", { headers: { "content-type": "text/html" } }),
          new Response("\u001f\u008b", { headers: { "content-encoding": "gzip" } }),
        ];
        return others[number] ?? image(number);
      }),
    );
    const { status, body } = await post({ ...BODY, n: 4 });
    expect(status).toBe(200);
    expect(body["data"]).toHaveLength(1);
    expect(body["extra"]).toMatchObject({
      errors: [0, 1, 2].map((index) => ({ index, code: "upstream_invalid_response" })),
    });
    expect(records).toMatchObject([{ images: 1, charge: "0.25", attempts: [{}, {}, {}, { status: 200 }] }]);
    expect(records[0]?.attempts?.map(({ code }) => code)).toEqual([
      ...Array(3).fill("upstream_invalid_response"),
      undefined,
    ]);
  });
});

describe("each of several calls", () => {
  it("fails over by itself", async () => {
    const keys = ["sk-first-key-000000", "sk-second-key-00000"];
    const { post, records } = open(
      ({ headers }) =>
        headers.get("authorization") === `Bearer ${keys[0]}` ? refusal(401, "InvalidApiKey") : image(0),
      {
        models: { "image-max": { family: "qwen-image" } },
        channels: keys.map((apiKey, index) => ({
          id: `channel ${index + 1}`,
          family: "qwen-image",
          apiKey,
          priority: 2 - index,
        })),
      },
    );
    const { status, body } = await post({ ...BODY, n: 2 });
    expect(status).toBe(200);
    expect(body["data"]).toHaveLength(2);
    expect(records).toMatchObject([
      {
        channel: "channel 2",
        images: 2,
        attempts: [
          { call: 0, channel: "channel 1", status: 401 },
          { call: 0, channel: "channel 2", status: 200 },
          { call: 1, channel: "channel 1", status: 401 },
          { call: 1, channel: "channel 2", status: 200 },
        ],
      },
    ]);
  });

  it("sends the files of an edit again", async () => {
    const png = new Uint8Array(100_000).fill(7);
    png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    const { gateway, calls } = open(
      scripted((number) => Response.json({ data: [{ url: `https://ark.test/${number}.png` }] })),
      {
        models: { single: { family: "seedream", capabilities: { imagesPerCall: 1 } } },
        uploadMemoryBytes: 0,
      },
    );
    const form = new FormData();
    form.set("model", "single");
    form.set("prompt", "a fox");
    form.set("n", "3");
    form.set("seed", "5");
    form.set("image", new Blob([png]), "fox.png");
    const { authorization } = Object.fromEntries(createPost({}).headers);
    const response = await gateway.fetch(
      new Request("http://gateway.test/v1/images/edits", {
        method: "POST",
        headers: { authorization: authorization ?? "" },
        body: form,
      }),
    );
    const { status, body } = await readResponse(response);
    expect(status).toBe(200);
    expect(body["data"]).toHaveLength(3);
    const url = `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
    expect(calls.map((call) => call.body["image"])).toEqual([[url], [url], [url]]);
    // The bodies are read at the same time, and end in any order.
    expect(new Set(calls.map((call) => call.body["seed"]))).toEqual(new Set([5, 6, 7]));
    expect(calls.some((call) => "n" in call.body || "sequential_image_generation" in call.body)).toBe(false);
  });
});

/** Sends a request for six images, and disconnects when four calls were sent. */
async function leaveAfterFour(headers: Record<string, string> = {}) {
  const { calls, provider, arrived } = waiting();
  const opened = open(provider);
  const client = new AbortController();
  const request = new Request(createPost({ ...BODY, n: 6 }, headers), { signal: client.signal });
  const response = opened.gateway.fetch(request);
  await arrived(4);
  client.abort();
  return { ...opened, upstream: calls, response };
}

const openFamily = (family: Partial<Family>, billing: GatewayOptions["billing"] = BILLING) =>
  open(scripted(image), {
    billing,
    families: [{ ...qwenImage, name: "own", ...family }],
    models: { "image-max": { family: "own" } },
    channels: [{ id: "own", family: "own", apiKey: "sk-first-key-000000" }],
  });

describe("a family of its own with several calls", () => {
  it("has its maximum of tokens for each image of each call", async () => {
    const { post, records } = openFamily(
      {
        reportsTokens: true,
        normalize: (fields, context) => ({
          ...qwenImage.normalize(fields, context),
          maxTokensPerImage: 100_000,
        }),
        fromUpstream: (body, request) => ({
          ...qwenImage.fromUpstream(body, request),
          usage: { generated_images: 1, output_tokens: 90_000, total_tokens: 90_000 },
        }),
      },
      { model_details: { "image-max": { pricing_mode: "per-token", output_token_price: "10" } } },
    );
    expect((await post({ ...BODY, n: 2, size: "1328x1328" })).status).toBe(200);
    expect(records).toMatchObject([{ usage: { output_tokens: 180_000 }, charge: "1.8" }]);
    expect(records[0]).not.toHaveProperty("reportedUsage");
  });

  it("settles the hold if its result has no list of images", async () => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- A family in JavaScript may return anything.
    const { gateway, post, records } = openFamily({
      fromUpstream: () => ({ errors: [], fields: {} }) as never,
    });
    expect((await post({ ...BODY, n: 2 })).status).toBe(500);
    expect(records).toMatchObject([{ errorCode: "internal_error", images: 0, charge: "0" }]);
    expect(await gateway.usage.balance("me")).toMatchObject({ held: "0" });
  });
});

describe("a client that disconnects during several calls", () => {
  it("pays for the calls that were sent, and no other call is sent", async () => {
    const { upstream, response, calls, records, gateway } = await leaveAfterFour();
    for (const [number, respond] of upstream.entries()) respond(image(number));
    await response;
    expect(calls).toHaveLength(4);
    expect(records).toMatchObject([{ images: 4, charge: "1", attempts: [{}, {}, {}, {}] }]);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "1", held: "0" });
  });

  it("gets the images that were made when it repeats the request with its idempotency key", async () => {
    const key = { "idempotency-key": "one" };
    const { upstream, response, calls, post } = await leaveAfterFour(key);
    expect((await post({ ...BODY, n: 6 }, key)).status).toBe(409);
    for (const [number, respond] of upstream.entries()) respond(image(number));
    await response;
    const repeat = await post({ ...BODY, n: 6 }, key);
    expect(repeat.status).toBe(200);
    expect(repeat.body["data"]).toHaveLength(4);
    expect(repeat.body["extra"]).toMatchObject({
      errors: [4, 5].map((index) => ({ index, code: "client_closed_request" })),
    });
    expect(calls).toHaveLength(4);
  });
});

describe("the idempotency key of several calls", () => {
  const KEY = { "idempotency-key": "one" };

  it("may be used again if no call can have made an image", async () => {
    const { post, calls } = open(
      scripted((number) => (number < 2 ? refusal(400, "InvalidParameter") : image(number))),
    );
    expect((await post({ ...BODY, n: 2 }, KEY)).status).toBe(400);
    expect((await post({ ...BODY, n: 2 }, KEY)).status).toBe(200);
    expect(calls).toHaveLength(4);
  });

  it("is kept if one call may have made an image", async () => {
    const { post, calls } = open(
      scripted((number) => (number === 0 ? refusal(400, "InvalidParameter") : refusal(500, "InternalError"))),
    );
    expect((await post({ ...BODY, n: 2 }, KEY)).status).toBe(400);
    const repeat = await post({ ...BODY, n: 2 }, KEY);
    expect([repeat.status, repeat.headers.get("idempotent-replayed")]).toEqual([400, "true"]);
    expect(calls).toHaveLength(2);
  });
});

describe("a gateway that closes during several calls", () => {
  it("waits for all calls, also for those that are sent later", async () => {
    const { calls, provider, arrived } = waiting();
    const { gateway, post, records } = open(provider);
    const response = post({ ...BODY, n: 5 });
    await arrived(4);
    const closed = gateway.close();
    for (const number of [0, 1, 2, 3]) calls[number]?.(image(number));
    await arrived(5);
    calls[4]?.(image(4));
    await closed;
    expect((await response).body["data"]).toHaveLength(5);
    expect(records).toMatchObject([{ images: 5, charge: "1.25" }]);
  });

  it("leaves one unresolved record at its deadline, delivers no image, and sends no further call", async () => {
    const { calls, provider, arrived } = waiting();
    const { gateway, post, records, unresolved } = open(provider);
    const response = post({ ...BODY, n: 5 });
    await arrived(4);
    calls[0]?.(image(0));
    await arrived(5);
    await gateway.close({ deadlineSeconds: 0.01 });
    expect(unresolved).toMatchObject([{ state: "unresolved", held: "1.25", charge: "0", images: 0 }]);
    for (const number of [1, 2, 3, 4]) calls[number]?.(image(number));
    const { status, body, headers } = await response;
    expect([status, headers.get("x-should-retry")]).toEqual([502, "false"]);
    expect(body).toMatchObject({ error: { code: "upstream_invalid_response" } });
    expect(records).toEqual([]);
    expect(unresolved).toHaveLength(1);
  });

  it("sends no call that has not begun at its deadline", async () => {
    const { calls, provider, arrived } = waiting();
    const { gateway, post } = open(provider);
    const response = post({ ...BODY, n: 6 });
    await arrived(4);
    await gateway.close({ deadlineSeconds: 0.01 });
    for (const number of [0, 1, 2, 3]) calls[number]?.(image(number));
    expect((await response).status).toBe(502);
    expect(calls).toHaveLength(4);
  });
});

describe("the limits of several calls", () => {
  it("count one request, n images and one concurrent request", async () => {
    const limits = { requestsPerMinute: 2, imagesPerMinute: 7, concurrent: 1 };
    const { post } = open(scripted(image), { limits });
    const first = await post({ ...BODY, n: 5 });
    expect(first.status).toBe(200);
    expect(first.headers.get("ratelimit")).toBe('"requests";r=1;t=60, "images";r=2;t=60');
    expect((await post({ ...BODY, n: 3 })).status).toBe(429);
    expect((await post({ ...BODY, n: 2 })).status).toBe(200);
  });

  it("hold the price of n images, and no more", async () => {
    const { calls, provider, arrived } = waiting();
    const { post, gateway } = open(provider);
    const response = post({ ...BODY, n: 3 });
    await arrived(3);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0.75" });
    for (const [number, respond] of calls.entries()) respond(image(number));
    await response;
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0.75", held: "0" });
  });

  it("give the hold the time of all rounds of calls", async () => {
    const ledger = createMemoryLedger();
    const holds: number[] = [];
    const { post } = open(scripted(image), {
      ledger: {
        ...ledger,
        hold: async (hold) => {
          holds.push(hold.ttlMs);
          return await ledger.hold(hold);
        },
      },
    });
    for (const n of [1, 4, 5, 10]) await post({ ...BODY, n });
    // The timeouts of one call are 10 s to connect, 900 s to the first byte and 300 s between two chunks.
    expect(holds).toEqual([1, 1, 2, 3].map((rounds) => 3_600_000 + rounds * 1_210_000));
  });
});

function only(fanOut: ModelOptions["fanOut"]): Partial<GatewayOptions> {
  return { models: { "image-max": { family: "qwen-image", fanOut } }, channels: ONE_CHANNEL };
}

describe("the option fanOut", () => {
  it("sets the maximum of n", async () => {
    const { post, calls } = open(scripted(image), only({ max: 2 }));
    expect((await post({ ...BODY, n: 2 })).status).toBe(200);
    const { status, body } = await post({ ...BODY, n: 3 });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: { param: "n", message: "n asks for 3 images; at most 2 are allowed." },
    });
    expect(calls).toHaveLength(2);
  });

  it("turned off makes n above 1 a 400", async () => {
    const { post, calls } = open(scripted(image), only(false));
    const { status, body } = await post({ ...BODY, n: 2 });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: { param: "n", message: "n asks for 2 images; this model makes at most 1." },
    });
    expect(calls).toHaveLength(0);
  });

  it.each([{ max: 1 }, { max: 101 }, { max: 2.5 }, {}, true, 4])("refuses %j at startup", (fanOut) => {
    expect(() => open(scripted(image), only(fanOut as ModelOptions["fanOut"]))).toThrow(
      "models.image-max.fanOut",
    );
  });
});

describe("a request that does not fan out", () => {
  it.each([
    { what: "parameters.n", fields: { parameters: { n: 2 } }, param: "parameters.n" },
    { what: "parameters.n beside n", fields: { n: 3, parameters: { n: 2 } }, param: "parameters.n" },
    {
      what: "parameters.n of the standard structure",
      fields: { input: { messages: [{ role: "user", content: [{ text: "a fox" }] }] }, parameters: { n: 2 } },
      param: "parameters.n",
    },
    {
      what: "n beside input",
      fields: { input: { messages: [{ role: "user", content: [{ text: "a fox" }] }] }, n: 2 },
      param: "n",
    },
    { what: "n with stream", fields: { n: 2, stream: true }, param: "stream" },
  ])("has $what, which is a 400", async ({ fields, param }) => {
    const { post, calls } = open(scripted(image));
    const { status, body } = await post({ ...BODY, ...fields });
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { param } });
    expect(calls).toHaveLength(0);
  });
});

describe("the response of one of several calls", () => {
  const SEEDREAM = {
    models: { single: { family: "seedream", capabilities: { imagesPerCall: 1 } } },
    channels: [{ id: "ark", family: "seedream", apiKey: "sk-first-key-000000" }],
  };

  it("adds its usage to the usage of the others, with the service name of the model", async () => {
    const { post, records } = open(
      scripted((number) =>
        Response.json({
          ...ARK_RESPONSE,
          created: 1_763_683_200 + number,
          usage: { ...ARK_RESPONSE.usage, tool_usage: { web_search: number } },
        }),
      ),
      SEEDREAM,
    );
    const { body } = await post({ model: "single", prompt: "a fox", n: 3 });
    expect(body).toMatchObject({
      model: "single",
      created: 1_763_683_200,
      data: [ARK_RESPONSE.data[0], ARK_RESPONSE.data[0], ARK_RESPONSE.data[0]],
      usage: {
        generated_images: 3,
        output_tokens: 49_152,
        total_tokens: 49_152,
        tool_usage: { web_search: 3 },
      },
    });
    expect(body).not.toHaveProperty("extra");
    expect(records).toMatchObject([{ images: 3, charge: "0.75" }]);
  });

  it("may be larger than what other responses hold, and more than a string holds in all", async () => {
    const b64_json = "A".repeat(700_000);
    const { post, records } = open(
      scripted(() => Response.json({ ...ARK_RESPONSE, data: [{ b64_json }] })),
      SEEDREAM,
    );
    const { status, body } = await post({
      model: "single",
      prompt: "a fox",
      n: 3,
      response_format: "b64_json",
    });
    expect(status).toBe(200);
    expect(body["data"]).toEqual([{ b64_json }, { b64_json }, { b64_json }]);
    expect(records).toMatchObject([{ images: 3 }]);
  });

  it("is sent in chunks if it is too large to be held twice, and is charged if the client leaves then", async () => {
    const images = [0, 1].map((number) => String(number).repeat(200_000));
    const { gateway, records } = createTestGateway(
      scripted((number) =>
        Response.json({ ...ARK_RESPONSE, created: undefined, data: [{ b64_json: images[number % 2] }] }),
      ),
      { billing: BILLING, ...SEEDREAM },
      { maxHeldImageBytes: 100_000 },
    );
    const post = (): Promise<Response> =>
      gateway.fetch(createPost({ model: "single", prompt: "a fox", n: 2, response_format: "b64_json" }));
    const whole: { readonly created: number } = JSON.parse(await (await post()).text());
    expect(whole).toMatchObject({
      data: images.map((b64_json) => ({ b64_json })),
      usage: { generated_images: 2 },
    });
    expect(Math.abs(whole.created - Date.now() / 1000)).toBeLessThan(60);
    const reader = (await post()).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    const record = { images: 2, charge: "0.5", status: 200 };
    await vi.waitFor(() => expect(records).toMatchObject([record, record]));
  });

  it("fails alone if it is too large", async () => {
    const b64_json = "A".repeat(700_000);
    const { post, records } = open(
      scripted((number) =>
        Response.json({ ...ARK_RESPONSE, data: number === 0 ? [{ b64_json }] : ARK_RESPONSE.data }),
      ),
      { ...SEEDREAM, maxUpstreamResponseBytes: 100_000 },
    );
    const { status, body } = await post({ model: "single", prompt: "a fox", n: 2 });
    expect(status).toBe(200);
    expect(body["data"]).toHaveLength(1);
    expect(body["extra"]).toMatchObject({ errors: [{ index: 0, code: "upstream_invalid_response" }] });
    expect(records).toMatchObject([{ images: 1, charge: "0.25" }]);
  });

  it("keeps its link if the image cannot be downloaded for b64_json", async () => {
    let calls = 0;
    const { post, records } = open(({ url }) => {
      if (url.includes("multimodal-generation")) return image(calls++);
      return url.endsWith("/0.png") ? new Response("no", { status: 404 }) : new Response("png bytes");
    });
    const { body } = await post({ ...BODY, n: 2, response_format: "b64_json" });
    expect(body["data"]).toEqual([
      { url: "https://dashscope.test/0.png", revised_prompt: "" },
      { b64_json: Buffer.from("png bytes").toString("base64"), revised_prompt: "" },
    ]);
    expect(body["extra"]).toMatchObject({ errors: [{ index: 0, code: "image_download_failed" }] });
    expect(records).toMatchObject([{ images: 2, charge: "0.5" }]);
  });

  it("may have several images: layers are delivered and charged, and an error has the index of the call", async () => {
    const layers = [{ url: "https://ark.test/base.png" }, { url: "https://ark.test/layer.png" }];
    const { post, records } = open(
      scripted((number) =>
        number === 0
          ? Response.json({ data: layers, usage: { generated_images: 2 } })
          : Response.json({ error: { code: "InternalServiceError", message: "No." } }, { status: 500 }),
      ),
      SEEDREAM,
    );
    const { body } = await post({ model: "single", prompt: "a fox", n: 2, layer_decomposition: true });
    expect(body["data"]).toEqual(layers);
    expect(body["extra"]).toMatchObject({ errors: [{ index: 1, code: "InternalServiceError" }] });
    expect(records).toMatchObject([{ images: 2, charge: "0.5", usage: { generated_images: 2 } }]);
  });

  it("charges the whole hold if it is compressed and lost requests are charged", async () => {
    const { post, records } = open(
      scripted((number) =>
        number === 0 ? image(0) : new Response("\u001f\u008b", { headers: { "content-encoding": "gzip" } }),
      ),
      { billing: { ...BILLING, onLost: "charge" } },
    );
    expect((await post({ ...BODY, n: 3 })).status).toBe(200);
    expect(records).toMatchObject([{ images: 1, charge: "0.75" }]);
  });

  it("ends the probe of its channel", async () => {
    const clock = { now: Date.UTC(2026, 10, 21) };
    let isDown = true;
    const { post, gateway } = createTestGateway(
      // A response that is not short is read after the attempt has ended.
      scripted((number) =>
        isDown ? refusal(401, "InvalidApiKey") : image(number, { note: "long".repeat(100_000) }),
      ),
      { models: { "image-max": { family: "qwen-image" } }, channels: ONE_CHANNEL },
      { now: () => clock.now },
    );
    expect((await post({ ...BODY, n: 2 })).status).toBe(401);
    expect(gateway.status().channels).toMatchObject([{ state: "cooling" }]);
    isDown = false;
    clock.now += 60_000;
    expect((await post({ ...BODY, n: 2 })).status).toBe(200);
    expect(gateway.status().channels).toMatchObject([{ state: "ready" }]);
  });
});

it("sequential_image_generation: disabled beside n means one image, as for all Seedream models", async () => {
  const { post, calls } = open(
    scripted(() => Response.json(ARK_RESPONSE)),
    {
      models: { "seedream-5-5": { family: "seedream" } },
      channels: [{ id: "ark", family: "seedream", apiKey: "sk-first-key-000000" }],
    },
  );
  const fields = { n: 3, sequential_image_generation: "disabled" };
  const { status, body } = await post({ model: "seedream-5-5", prompt: "a fox", ...fields });
  expect(status).toBe(200);
  expect(body["data"]).toHaveLength(1);
  expect(calls).toHaveLength(1);
});
