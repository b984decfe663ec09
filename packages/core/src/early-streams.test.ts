import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { GatewayError } from "./errors.js";
import type { FailureEvent, RequestEvent } from "./events.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import { HEARTBEAT } from "./responses/sse.js";
import { measureHeap } from "./testing/measure-heap.js";
import {
  ARK_RESPONSE,
  createPost,
  createTestGateway,
  DASHSCOPE_RESPONSE,
  NATIVE,
  type Provider,
  refusedConnection,
  type TestGateway,
} from "./testing/test-gateway.js";
import { type Transport, TransportError } from "./upstream/transport.js";

const BODY = { model: "seedream-4-5-251128", prompt: "a fox", n: 2, stream: true };
const COMMENT = ": keep-alive\n\n";
const KEY = { "idempotency-key": "5d1f" };

const imageEvent = (index: number): string =>
  `event: image_generation.partial_succeeded\ndata: {"type":"image_generation.partial_succeeded","image_index":${index},"url":"https://ark.test/${index}.png","size":"2048x2048"}\n\n`;
const COMPLETED =
  'event: image_generation.completed\ndata: {"type":"image_generation.completed","usage":{"generated_images":2,"output_tokens":9,"total_tokens":9}}\n\ndata: [DONE]\n\n';
const EVENTS = imageEvent(0) + imageEvent(1) + COMPLETED;

const toStream = (...texts: readonly string[]): Response =>
  new Response(ReadableStream.from(texts.map((text) => new TextEncoder().encode(text))), {
    headers: { "content-type": "text/event-stream" },
  });
async function* breakOffAfter(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
  throw new Error("broken");
}
const toBrokenStream = (text: string, contentType = "text/event-stream"): Response =>
  new Response(ReadableStream.from(breakOffAfter(text)), { headers: { "content-type": contentType } });
const toRefusal = (status: number, code: string): Response =>
  Response.json({ error: { code, message: "The provider\nsays no." } }, { status });

interface EarlyGateway extends TestGateway {
  /** Waits until the provider has this many calls. */
  readonly called: (count?: number) => Promise<void>;
  /** Lets the provider respond to its oldest open call. A function may throw. */
  readonly respond: (response: Response | (() => Response)) => void;
  /** Sends a request and waits for the head of its response. */
  readonly ask: (
    body?: object,
    host?: Parameters<TestGateway["gateway"]["fetch"]>[1],
    headers?: Record<string, string>,
  ) => Promise<Response>;
  readonly requests: readonly RequestEvent[];
  readonly errors: readonly FailureEvent[];
}

/** A gateway that sends comments after 20 ms, and a provider that responds when the test says so. */
function start(options: Partial<GatewayOptions> = {}): EarlyGateway {
  const open: ((response: Response | (() => Response)) => void)[] = [];
  const requests: RequestEvent[] = [];
  const errors: FailureEvent[] = [];
  const provider: Provider = async () => {
    const response = await new Promise<Response | (() => Response)>((resolve) => void open.push(resolve));
    return typeof response === "function" ? response() : response;
  };
  const test = createTestGateway(provider, {
    heartbeatSeconds: 0.02,
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
    limits: { requestsPerMinute: 60, concurrent: 1 },
    onRequest: (event) => requests.push(event),
    onError: (event) => errors.push(event),
    ...options,
  });
  return {
    ...test,
    called: (count = 1) => vi.waitFor(() => expect(test.calls).toHaveLength(count)),
    respond(response) {
      const resolve = open.shift();
      if (resolve === undefined) throw new Error("The provider has no open call.");
      resolve(response);
    },
    ask: (body = BODY, host = {}, headers = {}) => test.gateway.fetch(createPost(body, headers), host),
    requests,
    errors,
  };
}

/** Reads a body chunk by chunk. */
function openReader(response: Response) {
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error("The response has no body.");
  return {
    read: async (): Promise<string | undefined> => {
      const { done, value } = await reader.read();
      return done ? undefined : new TextDecoder().decode(value);
    },
    cancel: () => reader.cancel(),
  };
}

const withoutComments = (text: string): string => text.replaceAll(COMMENT, "");

describe("a stream whose provider does not respond for `heartbeatSeconds`", () => {
  it("begins with a comment, gets one for each further silent period, and then the provider's events", async () => {
    const { ask, called, respond, gateway, records, requests } = start();
    const response = await ask();
    await called();
    const { read } = openReader(response);
    expect([await read(), await read(), await read()]).toEqual([COMMENT, COMMENT, COMMENT]);
    expect(requests).toEqual([]);
    respond(toStream(EVENTS));
    let text = "";
    for (let chunk = await read(); chunk !== undefined; chunk = await read()) text += chunk;
    expect(withoutComments(text)).toBe(EVENTS);
    expect(records).toMatchObject([{ status: 200, images: 2, charge: "0.2" }]);
    expect(requests).toMatchObject([{ status: 200, stream: true }]);
    expect(requests[0]?.durationMs).toBeGreaterThanOrEqual(60);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0.2", held: "0" });
  });

  it("has the headers of any other stream", async () => {
    const body = { ...BODY, quality: "high", size: "500x500" };
    const quick = start({ heartbeatSeconds: undefined, sizes: "nearest" });
    const late = start({ sizes: "nearest" });
    const asked = quick.ask(body);
    await quick.called();
    quick.respond(toStream(EVENTS));
    const expected = Object.fromEntries((await asked).headers);
    const response = await late.ask(body);
    expect(Object.fromEntries(response.headers)).toEqual({
      ...expected,
      "x-request-id": expect.stringMatching(/^req_/),
    });
    expect(expected).toMatchObject({
      "content-type": /event-stream/,
      "x-calotype-ignored": "quality",
      "x-calotype-size": /x/,
    });
    expect(Object.keys(expected).filter((name) => name.startsWith("ratelimit"))).not.toEqual([]);
    late.respond(toStream(EVENTS));
    expect(withoutComments(await response.text())).toBe(EVENTS);
  });

  it("has further comments between its events", async () => {
    const { ask, called, respond } = start();
    const response = await ask();
    await called();
    const commented = Promise.withResolvers<void>();
    async function* slowly() {
      yield new TextEncoder().encode(imageEvent(0));
      await commented.promise;
      yield new TextEncoder().encode(imageEvent(1) + COMPLETED);
    }
    respond(
      new Response(ReadableStream.from(slowly()), { headers: { "content-type": "text/event-stream" } }),
    );
    const { read } = openReader(response);
    let text = "";
    for (let chunk = await read(); chunk !== undefined; chunk = await read()) {
      text += chunk;
      if (text.includes(imageEvent(0) + COMMENT.repeat(2))) commented.resolve();
    }
    expect(withoutComments(text)).toBe(EVENTS);
  });

  it.each([
    ["a byte order mark", ["\uFEFF"]],
    ["white space", ["\n", "\n"]],
    ["the first bytes of an event", [imageEvent(0).slice(0, 3), imageEvent(0).slice(3)]],
    ["an event that is cut", [imageEvent(0).slice(0, 60), imageEvent(0).slice(60)]],
  ])("has all events of a body that begins with %s", async (_what, pieces) => {
    const { ask, called, respond } = start();
    const response = await ask();
    await called();
    respond(toStream(...pieces, EVENTS));
    const text = withoutComments(await response.text());
    expect(text).toBe((pieces.join("") + EVENTS).replace("\uFEFF", ""));
  });

  it("also begins early at the native endpoint", async () => {
    const { gateway, called, respond, records } = start();
    const response = await gateway.fetch(new Request(NATIVE, createPost(BODY)));
    await called();
    respond(toStream(EVENTS));
    expect(withoutComments(await response.text())).toBe(EVENTS);
    expect(records).toMatchObject([{ operation: "native", images: 2 }]);
  });

  it("fails over to another channel", async () => {
    const channels = ["first", "second"].map((id, index) => ({
      id,
      family: "seedream",
      apiKey: `key-${id}`,
      priority: 2 - index,
    }));
    const { ask, called, respond, records } = start({
      channels,
      models: { [BODY.model]: { family: "seedream" } },
    });
    const response = await ask();
    await called();
    respond(toRefusal(429, "ModelAccountRpmRateLimitExceeded"));
    await called(2);
    respond(toStream(EVENTS));
    expect(withoutComments(await response.text())).toBe(EVENTS);
    expect(records).toMatchObject([{ channel: "second", attempts: [{ status: 429 }, { status: 200 }] }]);
  });

  it("counts from the arrival of the request, also while its body arrives", async () => {
    const { gateway, called, respond } = start({ heartbeatSeconds: 1 });
    async function* slowly() {
      const [head, rest] = [JSON.stringify(BODY).slice(0, 9), JSON.stringify(BODY).slice(9)];
      yield new TextEncoder().encode(head);
      await pause(1_000);
      yield new TextEncoder().encode(rest);
    }
    const { headers } = createPost(BODY);
    const init = { method: "POST", headers, body: ReadableStream.from(slowly()), duplex: "half" } as const;
    const request = new Request("http://gateway.test/v1/images/generations", init);
    const arrivedAt = performance.now();
    const response = await gateway.fetch(request);
    expect(performance.now() - arrivedAt).toBeLessThan(1_900);
    await called();
    respond(toStream(EVENTS));
    expect(await response.text()).toBe(COMMENT + EVENTS);
  });
});

describe("a response that does not begin early", () => {
  it.each<[string, Partial<GatewayOptions>, object]>([
    ["the option is not set", { heartbeatSeconds: undefined }, BODY],
    ["no stream was requested", {}, { ...BODY, stream: false }],
    ["the provider responds in time", { heartbeatSeconds: 60 }, BODY],
  ])("because %s: a refusal is an HTTP error", async (_why, options, body) => {
    const { ask, called, respond, requests } = start(options);
    const asked = ask(body);
    await called();
    await pause(60);
    respond(toRefusal(429, "ModelAccountRpmRateLimitExceeded"));
    const response = await asked;
    expect([response.status, response.headers.get("content-type")]).toEqual([429, "application/json"]);
    expect(requests).toMatchObject([{ status: 429 }]);
  });

  it.each([
    ["a wrong key", null, BODY, 401],
    ["an invalid field", { id: "me" }, { ...BODY, size: "1x1" }, 400],
  ])("because it is refused before it is admitted, however late: %s", async (_why, caller, body, status) => {
    const { ask } = start({
      callers: undefined,
      authenticate: async () => {
        await pause(60);
        return caller;
      },
    });
    const response = await ask(body);
    expect([response.status, response.headers.get("content-type")]).toEqual([status, "application/json"]);
  });
});

interface Failure {
  readonly name: string;
  readonly code: string;
  readonly options?: Partial<GatewayOptions>;
  /** Absent: the provider is not called. */
  readonly response?: Response | (() => Response);
  readonly record?: object;
  /** What a repeat with the same idempotency key does. */
  readonly repeat: "runs" | "stored";
}

const FAILURES: readonly Failure[] = [
  {
    name: "the provider's limit",
    code: "ModelAccountRpmRateLimitExceeded",
    response: toRefusal(429, "ModelAccountRpmRateLimitExceeded"),
    record: { status: 429, images: 0, charge: "0" },
    repeat: "runs",
  },
  {
    name: "a refused prompt",
    code: "InputTextSensitiveContentDetected",
    response: toRefusal(400, "InputTextSensitiveContentDetected"),
    record: { status: 400, images: 0, charge: "0" },
    repeat: "runs",
  },
  {
    name: "our refused key",
    code: "upstream_authentication_failed",
    response: toRefusal(401, "AuthenticationError"),
    record: { status: 401, images: 0, charge: "0" },
    repeat: "runs",
  },
  {
    name: "a failure of the provider, after which an image may have been made",
    code: "InternalServiceError",
    response: toRefusal(500, "InternalServiceError"),
    record: { status: 502, images: 0, charge: "0" },
    repeat: "stored",
  },
  {
    name: "a provider that cannot be reached",
    code: "upstream_unreachable",
    response: () => {
      throw refusedConnection();
    },
    repeat: "runs",
  },
  {
    name: "a response without an image",
    code: "upstream_no_image",
    response: Response.json({ ...ARK_RESPONSE, data: [], usage: { generated_images: 0 } }),
    record: { status: 502, images: 0, charge: "0" },
    repeat: "runs",
  },
  {
    name: "a refusal of `beforeSend`",
    code: "model_not_allowed",
    options: {
      async beforeSend() {
        await pause(60);
        throw new GatewayError("model_not_allowed", "Not this.");
      },
    },
    repeat: "runs",
  },
  {
    name: "an error in `beforeSend`",
    code: "internal_error",
    options: {
      async beforeSend() {
        await pause(60);
        throw new TypeError("a defect");
      },
    },
    repeat: "runs",
  },
];

describe("a failure after an early head", () => {
  it.each(FAILURES)("is an `error` event: $name", async ({ code, options, response, record }) => {
    const { ask, called, respond, records, requests, errors, gateway } = start(options);
    const stream = await ask();
    expect(stream.status).toBe(200);
    if (response !== undefined) {
      await called();
      respond(response instanceof Response ? response.clone() : response);
    }
    const text = withoutComments(await stream.text());
    const [, json = ""] = /^event: error\ndata: (.*)\n\n$/.exec(text) ?? [];
    expect(JSON.parse(json)).toMatchObject({ error: { code } });
    expect(errors).toMatchObject([{ error: {} }]);
    expect(requests).toMatchObject([{ status: 200, errorCode: code, stream: true }]);
    expect(records).toMatchObject(record === undefined ? [] : [record]);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0" });
  });

  it.each(FAILURES)("leaves the idempotency key as any other failure: $name", async (failure) => {
    const { code, options, response, repeat } = failure;
    const { ask, called, respond, calls } = start(options);
    const stream = await ask(BODY, {}, KEY);
    if (response !== undefined) {
      await called();
      respond(response instanceof Response ? response.clone() : response);
    }
    await stream.text();
    const before = calls.length;
    const again = ask(BODY, {}, KEY);
    const isSent = repeat === "runs" && response !== undefined;
    if (isSent) {
      await called(before + 1);
      respond(toStream(EVENTS));
    }
    const repeated = await again;
    const isReplayed = repeated.headers.get("idempotent-replayed") === "true";
    expect([isReplayed, calls.length - before]).toEqual([repeat === "stored", isSent ? 1 : 0]);
    expect(await repeated.text()).toContain(isSent ? EVENTS : code);
  });

  it("keeps the provider's own error at the native endpoint, on one line", async () => {
    const { gateway, called, respond } = start();
    const response = await gateway.fetch(new Request(NATIVE, createPost(BODY)));
    await called();
    const error = { error: { code: "InvalidParameter", message: "No.", param: "", type: "BadRequest" } };
    respond(new Response(JSON.stringify(error, null, 2).replaceAll("\n", "\r\n"), { status: 400 }));
    const text = withoutComments(await response.text());
    const [, json = ""] = /^event: error\ndata: ([^\r\n]*)\n\n$/.exec(text) ?? [];
    expect(JSON.parse(json)).toEqual(error);
  });

  it("in mid-stream is the error of the stream, reported once", async () => {
    const { ask, called, respond, records, errors, requests } = start();
    const response = await ask();
    await called();
    respond(toBrokenStream(imageEvent(0)));
    expect(withoutComments(await response.text())).toMatch(/upstream_invalid_response.*\n\n$/);
    expect(records).toMatchObject([{ images: 1, charge: "0.1" }]);
    expect([errors.length, requests.length]).toEqual([1, 1]);
  });
});

const splitAt = (text: string, at: number): string[] => [text.slice(0, at), text.slice(at)];
const toBase64 = (bytes: number): string => Buffer.alloc(bytes, 7).toString("base64");
const jsonOf = (bytes: number): object => ({
  ...ARK_RESPONSE,
  data: [{ b64_json: toBase64(bytes), size: "2048x2048" }],
});

describe("JSON after an early head", () => {
  it.each([
    ["short", 10, {}],
    ["relayed", 100_000, {}],
    ["kept for a repeat", 100_000, KEY],
    ["large, and complete before it is sent", 190_000, KEY],
    ["larger than what is kept", 900_000, KEY],
  ])("is one event with all of it on one line: %s", async (_size, bytes, headers) => {
    const { ask, called, respond, records, gateway, requests } = start();
    const response = await ask(BODY, {}, headers);
    await called();
    const json = jsonOf(bytes);
    const text = JSON.stringify(json, null, 2).replace("\n", "\r\n");
    respond(new Response(text, { headers: { "content-type": "application/json" } }));
    const [, data = "", ...rest] =
      /^data: ([^\r\n]*)\n\n$/.exec(withoutComments(await response.text())) ?? [];
    expect(rest).toEqual([]);
    expect(JSON.parse(data)).toMatchObject({ data: [{ size: "2048x2048" }], usage: { generated_images: 1 } });
    expect(JSON.parse(data)).toHaveProperty("data.0.b64_json", toBase64(bytes));
    expect(records).toMatchObject([{ images: 1, charge: "0.1" }]);
    expect(requests).toMatchObject([{ status: 200, stream: true }]);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0.1", held: "0" });
    // The slot is free again.
    const next = ask();
    await called(2);
    respond(toStream(EVENTS));
    expect(await (await next).text()).toContain(EVENTS);
  });

  it.each([
    ["at once", [JSON.stringify(ARK_RESPONSE, null, 1)]],
    ["after white space", [" \r\n", " ", "\n", JSON.stringify(ARK_RESPONSE, null, 1)]],
    ["after a byte order mark", ["\uFEFF", JSON.stringify(ARK_RESPONSE)]],
    ["with a first chunk as long as a heartbeat", splitAt(JSON.stringify(ARK_RESPONSE), HEARTBEAT.length)],
  ])("is one event also if it is labelled as events: %s", async (_when, texts) => {
    const { ask, called, respond, records } = start();
    const response = await ask();
    await called();
    respond(toStream(...texts));
    const [, data = ""] = /^data: ([^\r\n]*)\n\n$/.exec(withoutComments(await response.text())) ?? [];
    expect(JSON.parse(data)).toEqual(ARK_RESPONSE);
    expect(records).toMatchObject([{ images: 1 }]);
  });

  it("that breaks off fails the stream", async () => {
    const { ask, called, respond, records } = start();
    const response = await ask();
    await called();
    respond(toBrokenStream(JSON.stringify(jsonOf(100_000)).slice(0, 120_000), "application/json"));
    await expect(response.text()).rejects.toThrow("broken");
    await vi.waitFor(() => expect(records).toHaveLength(1));
    expect(records).toMatchObject([{ images: 0, errorCode: "upstream_invalid_response" }]);
  });
});

describe("a stream in OpenAI's format after an early head", () => {
  it.each([
    ["the provider's events", () => toStream(EVENTS), 2],
    ["JSON", () => Response.json(ARK_RESPONSE), 1],
    ["large JSON", () => Response.json(jsonOf(100_000)), 1],
    ["JSON labelled as events", () => toStream(JSON.stringify(ARK_RESPONSE)), 1],
  ])("is made from %s", async (_what, toResponse, images) => {
    const { ask, called, respond, records } = start({ streamFormat: "openai" });
    const response = await ask();
    await called();
    respond(toResponse());
    const text = await response.text();
    expect(text).toMatch(/^: keep-alive\n\n/);
    expect(text.split("event: image_generation.completed\n")).toHaveLength(images + 1);
    expect(text).toMatch(/\n\ndata: \[DONE\]\n\n$/);
    expect(records).toMatchObject([{ status: 200, images }]);
  });

  it("ends with an `error` event if the provider refuses, also for an edit", async () => {
    const { gateway, called, respond } = start({ streamFormat: "openai" });
    const image = `data:image/png;base64,${Buffer.from("\x89PNG\r\n\x1a\n", "latin1").toString("base64")}`;
    const post = createPost({ ...BODY, image });
    const response = await gateway.fetch(new Request(post.url.replace("generations", "edits"), post));
    await called();
    respond(toRefusal(400, "InputImageSensitiveContentDetected"));
    const text = withoutComments(await response.text());
    expect(text).toMatch(/^event: error\ndata: .*"InputImageSensitiveContentDetected".*\n\n$/);
  });
});

describe("several upstream calls after an early head", () => {
  it("are delivered and charged once", async () => {
    const { ask, called, respond, records, errors } = start({ streamFormat: "openai" });
    const response = await ask({ model: "image-max", prompt: "x", n: 3, stream: true });
    await called(3);
    respond(Response.json(DASHSCOPE_RESPONSE));
    await pause(50);
    respond(toRefusal(400, "DataInspectionFailed"));
    respond(Response.json(DASHSCOPE_RESPONSE));
    const text = await response.text();
    expect(text.startsWith(COMMENT)).toBe(true);
    expect(text.split("https://dashscope.test/1.png")).toHaveLength(3);
    expect(text).toContain("says no");
    expect(records).toMatchObject([{ images: 2, charge: "0.2" }]);
    expect(errors).toEqual([]);
  });

  it("begin no further call when the client has disconnected", async () => {
    const { ask, called, respond, records, calls } = start({ streamFormat: "openai" });
    const response = await ask({ model: "image-max", prompt: "x", n: 8, stream: true });
    await called(4);
    await response.body?.cancel();
    for (const _ of [1, 2, 3, 4]) respond(Response.json(DASHSCOPE_RESPONSE));
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 4, charge: "0.4" }]));
    expect(calls).toHaveLength(4);
  });
});

describe("a client that disconnects during the early phase", () => {
  it.each<[string, (response: Response, controller: AbortController) => Promise<void>]>([
    [
      "by ending the body",
      async (response) => {
        const { read, cancel } = openReader(response);
        await read();
        await cancel();
      },
    ],
    ["by ending the body unread", (response) => openReader(response).cancel()],
    ["by aborting the request", async (_response, controller) => controller.abort()],
  ])("%s gets no further attempt, and its call is settled", async (_how, leave) => {
    const channels = ["first", "second"].map((id) => ({ id, family: "seedream", apiKey: `key-${id}` }));
    for (const isMade of [true, false]) {
      const test = start({ channels, models: { [BODY.model]: { family: "seedream" } } });
      const { gateway, called, respond, records, requests, errors, calls } = test;
      const controller = new AbortController();
      const response = await gateway.fetch(new Request(createPost(BODY), { signal: controller.signal }));
      await called();
      await leave(response, controller);
      expect(records).toEqual([]);
      respond(isMade ? toStream(EVENTS) : toRefusal(429, "ModelAccountRpmRateLimitExceeded"));
      await vi.waitFor(() => expect(records).toHaveLength(1));
      expect(records).toMatchObject([isMade ? { images: 2, charge: "0.2" } : { status: 429, charge: "0" }]);
      expect(calls).toHaveLength(1);
      await vi.waitFor(() => expect(requests).toHaveLength(1));
      expect(errors).toHaveLength(isMade ? 0 : 1);
      const next = test.ask();
      await called(2);
      respond(toStream(EVENTS));
      expect((await next).status).toBe(200);
      await (await next).text();
    }
  });

  it("during `beforeSend` is not sent", async () => {
    const waiting = Promise.withResolvers<void>();
    const { ask, calls, requests, gateway } = start({ beforeSend: () => waiting.promise });
    const response = await ask();
    await response.body?.cancel();
    waiting.resolve();
    await vi.waitFor(() => expect(requests).toMatchObject([{ errorCode: "client_closed_request" }]));
    expect(calls).toEqual([]);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0" });
  });

  it.each([100_000, 400_000])("releases the slot of large JSON that is not read: %d bytes", async (bytes) => {
    const { ask, called, respond, records } = start();
    const response = await ask(BODY, {}, KEY);
    await called();
    await response.body?.cancel();
    respond(Response.json(jsonOf(bytes)));
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 1 }]));
    await vi.waitFor(async () => {
      const next = await ask({ ...BODY, size: "1x1" });
      expect(next.status).toBe(400);
    });
  });
});

describe("a client that reads nothing of an early stream", () => {
  it("is disconnected, and its call is settled", async () => {
    const { ask, called, respond, records } = start({ responseIdleSeconds: 0.3 });
    const response = await ask();
    await called();
    await pause(1_500);
    await expect(response.text()).rejects.toThrow("read nothing");
    respond(toStream(EVENTS));
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 2 }]));
  });
});

describe("a gateway that closes during the early phase", () => {
  it("waits for the response and its settlement", async () => {
    const { ask, called, respond, gateway, records } = start();
    const response = await ask();
    await called();
    const closed = gateway.close();
    expect(await Promise.race([closed, pause(50, "open")])).toBe("open");
    respond(toStream(EVENTS));
    expect(withoutComments(await response.text())).toBe(EVENTS);
    await closed;
    expect(records).toMatchObject([{ images: 2 }]);
  });

  it("holds the host once, before the head, until everything is settled", async () => {
    const works: Promise<unknown>[] = [];
    let isSent = false;
    const waitUntil = (work: Promise<unknown>): void => {
      if (isSent) throw new Error("The head was sent.");
      works.push(work);
    };
    const { ask, called, respond, records, logs } = start();
    const response = await ask(BODY, { waitUntil });
    isSent = true;
    await called();
    await response.body?.cancel();
    respond(toStream(EVENTS));
    await Promise.all(works);
    expect(records).toMatchObject([{ images: 2 }]);
    expect(logs).toEqual([]);
  });
});

/** A stream that has one image and does not end. */
async function* oneImage(): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(imageEvent(0));
  await new Promise(() => undefined);
}

describe("the memory of early streams", () => {
  it("does not contain the bodies of their requests once they stream", async () => {
    const count = 20;
    const bytes = 1_000_000;
    const respond: (() => void)[] = [];
    const transport: Transport = {
      async send() {
        await new Promise<void>((resolve) => void respond.push(resolve));
        const headers = new Headers({ "content-type": "text/event-stream" });
        return { status: 200, headers, body: oneImage(), cancel: () => undefined };
      },
      download: () => Promise.reject(new TransportError("unreachable", undefined)),
      close: async () => undefined,
    };
    const { gateway } = createTestGateway(undefined, { heartbeatSeconds: 0.02 }, { transport });
    const image = `data:image/png;base64,${Buffer.alloc(bytes, 7).toString("base64")}`;
    /** Not a `Request`, which would retain its own body. */
    const send = async (): Promise<AsyncIterator<Uint8Array>> => {
      const { headers, url } = createPost({});
      const text = JSON.stringify({ ...BODY, image });
      const signal = { aborted: false };
      const response = await gateway.handle({
        method: "POST",
        url,
        headers,
        body: ReadableStream.from([new TextEncoder().encode(text)]),
        signal,
      });
      if (response === null || typeof response.body === "string" || response.body instanceof Uint8Array) {
        throw new Error("The response is not a stream.");
      }
      return response.body[Symbol.asyncIterator]();
    };
    const bodies: AsyncIterator<Uint8Array>[] = [];
    const before = measureHeap();
    for (let index = 0; index < count; index++) bodies.push(await send());
    await vi.waitFor(() => expect(respond).toHaveLength(count));
    expect((measureHeap() - before) / count).toBeGreaterThan(bytes);
    for (const resolve of respond) resolve();
    for (const chunks of bodies) {
      let text: string;
      do text = new TextDecoder().decode((await chunks.next()).value);
      while (text === COMMENT);
      expect(text).toBe(imageEvent(0));
    }
    expect((measureHeap() - before) / count).toBeLessThan(bytes / 10);
  });
});
