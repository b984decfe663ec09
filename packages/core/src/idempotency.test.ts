import { describe, expect, it } from "vitest";
import { createMemoryAdmissionStore } from "./features/limits/memory-store.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import { PNG } from "./testing/form-bytes.js";
import { createOpenStreams } from "./testing/open-streams.js";
import {
  ARK_RESPONSE,
  CALLER_KEY,
  createPost,
  createTestGateway,
  type Provider,
  type ReadResponse,
  readResponse,
  refusedConnection,
} from "./testing/test-gateway.js";
import { type Transport, TransportError } from "./upstream/transport.js";

const BODY = { model: "doodle", prompt: "a fox" };
const OTHER_KEY = "caller-canary-60b2f8d5";
const keyed = (key: string): Record<string, string> => ({ "idempotency-key": key });
const KEY = keyed("7c0ad1f2");
const errorOf = (code: string): object => ({ error: { code } });

const open = (provider?: Provider, options: Partial<GatewayOptions> = {}) =>
  createTestGateway(provider, {
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
    callers: [
      { id: "me", key: CALLER_KEY },
      { id: "you", key: OTHER_KEY },
    ],
    ...options,
  });

/** Different images at each call. */
function createCountingProvider(): Provider {
  let count = 0;
  return () => Response.json({ ...ARK_RESPONSE, data: [{ url: `https://ark.test/${++count}.png` }] });
}

const fail =
  (status: number, code: string): Provider =>
  () =>
    Response.json({ error: { code, message: "no" } }, { status });

const edit = (prompt: string): Request => {
  const form = new FormData();
  form.append("model", "doodle");
  form.append("prompt", prompt);
  form.append("image", new Blob([PNG]), "blob");
  const headers = { authorization: `Bearer ${CALLER_KEY}`, ...KEY };
  return new Request("http://gateway.test/v1/images/edits", { method: "POST", headers, body: form });
};

const writeEvent = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const IMAGE = writeEvent("image_generation.partial_succeeded", { url: "https://ark.test/1.png" });
const FAILED_IMAGE = writeEvent("image_generation.partial_failed", { error: { code: "No", message: "No." } });
const COMPLETED = writeEvent("image_generation.completed", { usage: { generated_images: 1 } });
const COMPLETED_EMPTY = writeEvent("image_generation.completed", { usage: { generated_images: 0 } });
const FAILED_STREAM = writeEvent("error", { error: { code: "InternalServiceError", message: "No." } });

/** Responds with a stream of these events. */
function events(...texts: readonly string[]): Provider {
  return () => new Response(texts.join(""), { headers: { "content-type": "text/event-stream" } });
}

/** Responds with a stream of this event, and breaks the connection. */
function brokenAfter(text: string): Provider {
  async function* send() {
    yield new TextEncoder().encode(text);
    throw new Error("reset");
  }
  return () =>
    new Response(ReadableStream.from(send()), { headers: { "content-type": "text/event-stream" } });
}

describe("a repeat of a request with a stored response", () => {
  it("gets the same response to the byte, is charged nothing, and names the first one", async () => {
    const { gateway, post, calls, records } = open(createCountingProvider());
    const first = await post(BODY, KEY);
    const second = await post(BODY, KEY);
    expect([second.status, second.text]).toEqual([first.status, first.text]);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(second.headers.get("x-calotype-original-request-id")).toBe(first.headers.get("x-request-id"));
    expect(second.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    expect([calls.length, records.length]).toEqual([1, 1]);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0.1", held: "0" });
  });

  it("counts against no limit and no budget", async () => {
    const { post } = open(undefined, {
      limits: { requestsPerMinute: 1, imagesPerMinute: 1 },
      callers: [{ id: "me", key: CALLER_KEY, budget: "0.1" }],
    });
    for (const _ of [1, 2, 3, 4]) expect((await post(BODY, KEY)).status).toBe(200);
    expect((await post(BODY, keyed("another"))).status).toBe(429);
  });

  it("runs once the time is over for which responses are kept", async () => {
    const clock = { now: 1_800_000_000_000 };
    const { post, calls } = createTestGateway(
      undefined,
      { idempotency: { seconds: 60 } },
      { now: () => clock.now },
    );
    await post(BODY, KEY);
    clock.now += 59_999;
    await post(BODY, KEY);
    expect(calls).toHaveLength(1);
    clock.now += 1;
    await post(BODY, KEY);
    expect(calls).toHaveLength(2);
  });

  it("whose response is too large is a 409, and nothing is sent", async () => {
    const { post, calls } = open(undefined, { idempotency: { maxResponseBytes: 10 } });
    expect((await post(BODY, KEY)).status).toBe(200);
    const repeat = await post(BODY, KEY);
    expect(repeat).toMatchObject({ status: 409, body: errorOf("idempotency_not_replayable") });
    expect(repeat.headers.get("x-should-retry")).toBe("false");
    expect(calls).toHaveLength(1);
  });

  it("whose response is a stream is a 409 while it runs and after it has ended", async () => {
    const streams = createOpenStreams();
    const { gateway, post } = open(streams.provider);
    const stream = { ...BODY, stream: true };
    const first = await gateway.fetch(createPost(stream, KEY));
    expect(await post(stream, KEY)).toMatchObject({ status: 409, body: errorOf("idempotency_in_progress") });
    streams.finish();
    await first.text();
    await expect
      .poll(async () => (await post(stream, KEY)).body)
      .toMatchObject(errorOf("idempotency_not_replayable"));
  });
});

describe("another request under the same key", () => {
  it.each<[string, object]>([
    ["another prompt", { ...BODY, prompt: "a cat" }],
    ["another model", { ...BODY, model: "seedream-4-0-250828" }],
    ["one field more", { ...BODY, seed: 1 }],
    ["a stream", { ...BODY, stream: true }],
  ])("is a 422 that is not to be repeated: %s", async (_what, other) => {
    const { post, calls } = open();
    await post(BODY, KEY);
    const { status, headers, body } = await post(other, KEY);
    expect([status, body]).toMatchObject([422, errorOf("idempotency_conflict")]);
    expect(headers.get("x-should-retry")).toBe("false");
    expect(calls).toHaveLength(1);
  });

  it("is separate for each caller and endpoint", async () => {
    const { post, postNative, gateway, calls } = open();
    await post(BODY, KEY);
    const other = await post(BODY, { ...KEY, authorization: `Bearer ${OTHER_KEY}` });
    expect(other.headers.get("idempotent-replayed")).toBeNull();
    const native = await gateway.fetch(
      new Request("http://gateway.test/api/v3/images/generations", createPost(BODY, KEY)),
    );
    expect([native.status, native.headers.get("idempotent-replayed")]).toEqual([200, null]);
    expect((await postNative(BODY)).status).toBe(200);
    expect(calls).toHaveLength(4);
  });
});

describe("requests of one key at once", () => {
  it("run once: the others are a 409 with Retry-After, and later get the response", async () => {
    const waiting = Promise.withResolvers<void>();
    const refused: ReadResponse[] = [];
    const { post, calls, records } = open(async () => {
      await waiting.promise;
      return Response.json(ARK_RESPONSE);
    });
    const all = Array.from({ length: 10 }, async () => {
      const response = await post(BODY, KEY);
      if (response.status === 409) refused.push(response);
      if (refused.length === 9) waiting.resolve();
      return response;
    });
    const passed = (await Promise.all(all)).filter(({ status }) => status === 200);
    expect([passed.length, refused.length]).toEqual([1, 9]);
    for (const { headers, body } of refused) {
      expect([headers.get("retry-after"), body]).toMatchObject(["10", errorOf("idempotency_in_progress")]);
    }
    expect((await post(BODY, KEY)).headers.get("idempotent-replayed")).toBe("true");
    expect([calls.length, records.length]).toEqual([1, 1]);
  });
});

describe("a form", () => {
  it("is the same request with another boundary, and another one with another field", async () => {
    const { gateway, calls } = open();
    const requests = [edit("at night"), edit("at night")] as const;
    const boundaries = requests.map(({ headers }) => headers.get("content-type"));
    expect(boundaries[0]).not.toBe(boundaries[1]);
    const first = await readResponse(await gateway.fetch(requests[0]));
    const second = await readResponse(await gateway.fetch(requests[1]));
    expect([first.status, second.status, second.text, calls.length]).toEqual([200, 200, first.text, 1]);
    const third = await readResponse(await gateway.fetch(edit("at day")));
    expect(third).toMatchObject({ status: 422, body: errorOf("idempotency_conflict") });
  });
});

describe("a request that failed", () => {
  it.each<[string, Provider, object]>([
    ["the provider could not be reached", () => Promise.reject(refusedConnection()), {}],
    ["the provider was busy", fail(429, "RateLimitExceeded"), {}],
    ["the provider refused our key", fail(401, "AuthenticationError"), {}],
    ["its fields were wrong", fail(400, "InvalidParameter"), { prompt: 7 }],
    ["the provider refused its fields", fail(400, "InvalidParameter"), {}],
    ["the provider refused its content", fail(400, "OutputImageSensitiveContentDetected"), {}],
    ["the provider does not know the model", fail(404, "InvalidEndpointOrModel.NotFound"), {}],
    ["the provider's quota is used up", fail(429, "QuotaExceeded"), {}],
    ["its response had no image", () => Response.json({ data: [] }), {}],
    ["its response had failed images only", () => Response.json({ data: [{ error: { code: "No" } }] }), {}],
    [
      "its large response held no image",
      () => Response.json({ data: [], trace: "t".repeat(400_000), usage: { generated_images: 0 } }),
      {},
    ],
    ["a stream failed at its first event", events(FAILED_STREAM), { stream: true }],
    ["a stream failed at its first event and broke off", brokenAfter(FAILED_STREAM), { stream: true }],
    ["a stream held failed images only", events(FAILED_IMAGE, COMPLETED_EMPTY), { stream: true }],
  ])("runs again if it is certain that nothing was made: %s", async (_what, provider, changed) => {
    const { post, calls } = open(provider);
    const first = await post({ ...BODY, ...changed }, KEY);
    const before = calls.length;
    const second = await post({ ...BODY, ...changed }, KEY);
    expect(second.headers.get("idempotent-replayed")).toBeNull();
    expect([second.status, calls.length]).toEqual([first.status, 2 * before]);
  });

  it.each<[string, Provider, number]>([
    ["the provider failed", fail(500, "InternalServiceError"), 502],
    ["its connection broke", () => Promise.reject(new Error("broken")), 502],
    ["its response was cut", () => new Response('{"data":['), 502],
    [
      "its response had no image and reported one",
      () => Response.json({ data: [], usage: { generated_images: 1 } }),
      502,
    ],
  ])(
    "gets the same response as before if an image may have been made: %s",
    async (_what, provider, status) => {
      const { post, calls } = open(provider);
      const first = await post(BODY, KEY);
      const second = await post(BODY, KEY);
      expect([first.status, second.status, second.text]).toEqual([status, status, first.text]);
      expect(second.headers.get("x-should-retry")).toBe(first.headers.get("x-should-retry"));
      expect(second.headers.get("idempotent-replayed")).toBe("true");
      expect(calls).toHaveLength(1);
    },
  );
});

it.each<[string, Provider]>([
  ["made an image", events(IMAGE, FAILED_STREAM)],
  ["reported an image before it failed", events(COMPLETED, FAILED_STREAM)],
  ["held no event", events()],
])("a stream that %s is not run again, and the 409 gives the reason", async (_what, provider) => {
  const { post, calls } = open(provider);
  expect((await post({ ...BODY, stream: true }, KEY)).status).toBe(200);
  await expect
    .poll(async () => (await post({ ...BODY, stream: true }, KEY)).body)
    .toMatchObject({
      error: {
        code: "idempotency_not_replayable",
        message:
          "The request with this Idempotency-Key has run, and its response is not stored (a stream, or too large). Its images were charged, or its outcome is unknown. Send a new key to run it again; it can be charged again.",
      },
    });
  expect(calls).toHaveLength(1);
});

describe("if one channel may have made an image before another refused the request, a repeat is not sent", () => {
  const refusal = { error: { code: "InputTextSensitiveContentDetected", message: "no" } };

  it.each<[string, Provider, boolean]>([
    ["with status 400", fail(400, "InvalidParameter"), false],
    ["with an error in a 200", () => Response.json(refusal), false],
    ["with no image in a 200", () => Response.json({ data: [] }), false],
    ["in the first event of a stream", events(`event: error\ndata: ${JSON.stringify(refusal)}\n\n`), true],
  ])("%s", async (_how, refuse, stream) => {
    const providers = [fail(500, "InternalServiceError"), refuse];
    let sent = 0;
    const { post, calls } = open((call) => (providers[sent++] ?? fail(500, "Unexpected"))(call), {
      channels: ["one", "two"].map((id, index) => ({
        id,
        family: "seedream",
        apiKey: `key-${id}`,
        priority: -index,
        retryUnsafe: true,
      })),
      models: { doodle: { family: "seedream" } },
    });
    await post({ ...BODY, stream }, KEY);
    expect(calls).toHaveLength(2);
    await post({ ...BODY, stream }, KEY);
    expect(calls).toHaveLength(2);
  });
});

it("a request that timed out is not sent again by its repeat", async () => {
  let sent = 0;
  const transport: Transport = {
    async send() {
      sent++;
      throw new TransportError("timeout", undefined);
    },
    download: () => Promise.reject(new TransportError("unreachable", undefined)),
    close: async () => {},
  };
  const { post } = createTestGateway(undefined, {}, { transport });
  const responses = [await post(BODY, KEY), await post(BODY, KEY)];
  expect(responses.map(({ status }) => status)).toEqual([504, 504]);
  expect(responses[1]?.text).toBe(responses[0]?.text);
  expect(responses[1]?.headers.get("x-should-retry")).toBe("false");
  expect(sent).toBe(1);
});

describe("the header", () => {
  it.each<[string, string]>([
    ["empty", ""],
    ["a space", " "],
    ["too long", "k".repeat(256)],
    ["of a megabyte", "k".repeat(1_048_576)],
    ["sent twice", "one, two"],
    ["sent twice in quotes", '"one", "two"'],
    ["half in quotes", '"one'],
    ["no ASCII", "schlüssel"],
  ])("that is %s is a 400, and nothing is sent", async (_what, key) => {
    const { post, calls } = open();
    const { status, body } = await post(BODY, keyed(key));
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { message: expect.stringContaining("Idempotency-Key") } });
    expect(calls).toEqual([]);
  });

  it("means the same in quotes", async () => {
    const { post, calls } = open();
    await post(BODY, keyed("one"));
    await post(BODY, keyed('"one"'));
    expect(calls).toHaveLength(1);
  });

  it.each(["__proto__", "constructor", "toString"])("may be %s", async (key) => {
    const { post, calls } = open();
    await post(BODY, keyed(key));
    await post(BODY, keyed(key));
    expect(calls).toHaveLength(1);
  });

  it("in a thousand versions is remembered within bounds, the newest first", async () => {
    const { post, calls } = open(undefined, { admission: createMemoryAdmissionStore({ maxResponses: 50 }) });
    for (let key = 0; key < 1_000; key++) await post(BODY, keyed(String(key)));
    expect(calls).toHaveLength(1_000);
    for (let key = 950; key < 1_000; key++) await post(BODY, keyed(String(key)));
    expect(calls).toHaveLength(1_000);
    await post(BODY, keyed("949"));
    expect(calls).toHaveLength(1_001);
  });
});
