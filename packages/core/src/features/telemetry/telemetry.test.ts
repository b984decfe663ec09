import { describe, expect, it, vi } from "vitest";
import type {
  AttemptObserver,
  CallObserver,
  SkippedRoute,
  StartedCall,
  Telemetry,
} from "../../contract/telemetry.js";
import type { GatewayError } from "../../errors.js";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { ARK_RESPONSE, createPost, createTestGateway, type Provider } from "../../testing/test-gateway.js";

const BODY = { model: "doodle", prompt: "a lighthouse" };
const fail = (): never => {
  throw new Error("The telemetry is broken.");
};
const CALL_FUNCTIONS = [
  "callerKnown",
  "modelKnown",
  "promptKnown",
  "routeSkipped",
  "clientLeft",
  "held",
  "submitted",
  "attemptStarted",
  "firstImage",
  "failed",
  "responded",
  "holdEnded",
  "ended",
] as const satisfies readonly (keyof CallObserver)[];
const ATTEMPT_FUNCTIONS = ["run", "responded", "failed", "ended"] as const;

const failIn = (names: readonly string[]): object => Object.fromEntries(names.map((name) => [name, fail]));

describe("telemetry that throws", () => {
  it.each<[string, Telemetry]>([
    ["when a call starts", { callStarted: fail }],
    ["when channels are watched", { callStarted: () => undefined, watchChannels: fail }],
    ["in each function of a call", { callStarted: () => failIn(CALL_FUNCTIONS) }],
    [
      "in each function of an attempt",
      { callStarted: () => ({ attemptStarted: () => failIn(ATTEMPT_FUNCTIONS) }) },
    ],
  ])("%s changes no response, and is logged once", async (_, telemetry) => {
    const { post, calls, logs, records } = createTestGateway(undefined, { telemetry });
    const responses = [await post(BODY), await post(BODY)];

    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    expect(calls).toHaveLength(2);
    await vi.waitFor(() => expect(records).toHaveLength(2));
    expect(logs.map(({ message }) => message)).toEqual([
      "The telemetry failed; further failures are not logged.",
    ]);
  });

  it.each<[string, NonNullable<AttemptObserver["run"]>]>([
    [
      "after it has sent",
      (send) => {
        send();
        return fail();
      },
    ],
    [
      "twice",
      (send) => {
        send();
        return send();
      },
    ],
  ])("sends an attempt once if run sends and throws or sends again: %s", async (_, run) => {
    const telemetry: Telemetry = { callStarted: () => ({ attemptStarted: () => ({ run }) }) };
    const { post, calls } = createTestGateway(undefined, { telemetry });

    expect((await post(BODY)).status).toBe(200);
    expect(calls).toHaveLength(1);
  });
});

/** Notes the order of what a call tells. */
function noteCalls(): {
  readonly telemetry: Telemetry;
  readonly notes: string[];
  readonly started: StartedCall[];
} {
  const notes: string[] = [];
  const started: StartedCall[] = [];
  const noteAll = (names: readonly string[], prefix = ""): object =>
    Object.fromEntries(names.map((name) => [name, () => void notes.push(`${prefix}${name}`)]));
  const telemetry: Telemetry = {
    callStarted(call) {
      started.push(call);
      return {
        ...noteAll(CALL_FUNCTIONS),
        attemptStarted: () => noteAll(["responded", "failed", "ended"], "attempt."),
      };
    },
  };
  return { telemetry, notes, started };
}

describe("a call", () => {
  it("ends after its response and its hold", async () => {
    const { telemetry, notes, started } = noteCalls();
    const { post } = createTestGateway(undefined, { telemetry });
    const { headers } = await post(BODY);

    expect(notes).toEqual([
      "callerKnown",
      "modelKnown",
      "promptKnown",
      "held",
      "attempt.responded",
      "holdEnded",
      "attempt.ended",
      "firstImage",
      "responded",
      "ended",
    ]);
    expect(started).toMatchObject([
      { id: headers.get("x-request-id"), operation: "generate", kind: "request" },
    ]);
  });

  it("that is refused has neither an attempt nor a hold", async () => {
    const { telemetry, notes } = noteCalls();
    const { post } = createTestGateway(undefined, { telemetry });
    await post({ ...BODY, model: "unknown" });

    expect(notes).toEqual(["callerKnown", "failed", "responded", "ended"]);
  });

  it("sends the headers of its attempts, which replace none of the gateway", async () => {
    const headers = { traceparent: "00-1", authorization: "Bearer other" };
    const telemetry: Telemetry = { callStarted: () => ({ attemptStarted: () => ({ headers }) }) };
    const { post, calls } = createTestGateway(() => Response.json(ARK_RESPONSE), { telemetry });
    await post(BODY);

    expect(calls[0]?.headers.get("traceparent")).toBe("00-1");
    expect(calls[0]?.headers.get("authorization")).toMatch(/^Bearer ark-canary/);
  });
});

const MODELS = { doodle: { family: "seedream" } };

/** Observes what is skipped. */
function noteSkipped(): { readonly telemetry: Telemetry; readonly skipped: SkippedRoute[] } {
  const skipped: SkippedRoute[] = [];
  const telemetry: Telemetry = {
    callStarted: () => ({ routeSkipped: (route) => void skipped.push(route) }),
  };
  return { telemetry, skipped };
}

const refuseKey = (): Response => Response.json({ error: { code: "AuthenticationError" } }, { status: 401 });
const refuseModel = (): Response => Response.json({ error: { code: "ModelNotOpen" } }, { status: 404 });
const FIRST = {
  id: "first",
  family: "seedream",
  apiKey: "key-a",
  baseUrl: "https://first.test",
  priority: 1,
};
const SECOND = { ...FIRST, id: "second", apiKey: "key-c", baseUrl: "https://second.test", priority: 0 };

describe("channels that cool down", () => {
  it.each<[string, Provider, object, Partial<SkippedRoute>]>([
    [
      "a channel",
      ({ url }) => (url.includes("first") ? refuseKey() : Response.json(ARK_RESPONSE)),
      {},
      { channel: "first", scope: "channel", reason: "credential" },
    ],
    [
      "a key of a channel that works",
      ({ headers }) =>
        headers.get("authorization") === "Bearer key-a" ? refuseKey() : Response.json(ARK_RESPONSE),
      { apiKey: ["key-a", "key-b"] },
      { channel: "first", key: 0, scope: "key", reason: "credential" },
    ],
    [
      "a model of a channel",
      ({ url }) => (url.includes("first") ? refuseModel() : Response.json(ARK_RESPONSE)),
      {},
      { channel: "first", key: 0, scope: "model", reason: "credential" },
    ],
  ])("%s is reported by the calls that skip it", async (_, provider, fields, expected) => {
    const { telemetry, skipped } = noteSkipped();
    const channels = [{ ...FIRST, ...fields }, SECOND];
    const { post } = createTestGateway(provider, { telemetry, channels, models: MODELS });
    expect((await post(BODY)).status).toBe(200);
    // The attempt of this call reported the cooldown.
    expect(skipped).toEqual([]);
    expect((await post(BODY)).status).toBe(200);

    expect(skipped).toEqual([{ ...expected, isProbed: false, until: expect.any(Number) }]);
    expect(skipped[0]?.until).toBeGreaterThan(Date.now());
  });

  it("are reported once for a request that takes several upstream calls, and 16 at most", async () => {
    const { telemetry, skipped } = noteSkipped();
    const many = Array.from({ length: 20 }, (_, index) => ({
      ...FIRST,
      id: `first-${index}`,
      apiKey: `key-${index}`,
    }));
    const { post } = createTestGateway(
      ({ url }) => (url.includes("first") ? refuseKey() : Response.json(ARK_RESPONSE)),
      {
        telemetry,
        models: { "doubao-seedream-5-5": { family: "seedream" } },
        channels: [...many, SECOND],
      },
    );
    const body = { ...BODY, model: "doubao-seedream-5-5" };
    expect((await post(body)).status).toBe(200);
    skipped.length = 0;
    expect((await post({ ...body, n: 3 })).status).toBe(200);

    expect(skipped).toHaveLength(16);
    expect(new Set(skipped.map((one) => one.channel)).size).toBe(16);
  });
});

describe("the limit that refuses a request", () => {
  it.each<[string, Partial<GatewayOptions>]>([
    ["requests", { limits: { requestsPerMinute: 1 } }],
    ["images", { limits: { imagesPerMinute: 1 } }],
    ["concurrent", { limits: { concurrent: 1 } }],
    ["model-requests", { models: { doodle: { family: "seedream", limits: { requestsPerMinute: 1 } } } }],
    ["model-concurrent", { models: { doodle: { family: "seedream", limits: { concurrent: 1 } } } }],
    [
      "budget",
      {
        billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.3" } } },
        callers: [{ id: "me", key: "caller-canary-b1946ac9", budget: "0.5" }],
      },
    ],
  ])("is named: %s", async (limit, options) => {
    const errors: GatewayError[] = [];
    const telemetry: Telemetry = { callStarted: () => ({ failed: (error) => void errors.push(error) }) };
    const response = Promise.withResolvers<Response>();
    const { post, calls } = createTestGateway(() => response.promise, { telemetry, ...options });
    const first = post(BODY);
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    expect((await post(BODY)).status).toBeGreaterThanOrEqual(403);
    response.resolve(Response.json(ARK_RESPONSE));

    expect((await first).status).toBe(200);
    expect(errors).toMatchObject([{ limit }]);
  });
});

const toEvent = (event: { readonly type: string }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

describe("a client that disconnects", () => {
  const EVENT = {
    type: "image_generation.partial_succeeded",
    image_index: 0,
    url: "https://ark.test/1.png",
  };
  const stream = (): Response => {
    const events = [EVENT, { type: "image_generation.completed", usage: { generated_images: 1 } }];
    const text = events.map(toEvent).join("");
    return new Response(text, { headers: { "content-type": "text/event-stream" } });
  };

  it("while it waits is reported once, before the end", async () => {
    const { telemetry, notes } = noteCalls();
    const response = Promise.withResolvers<Response>();
    const { gateway, calls } = createTestGateway(() => response.promise, { telemetry });
    const leaving = new AbortController();
    const pending = gateway.fetch(new Request(createPost(BODY), { signal: leaving.signal }));
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    leaving.abort();
    response.resolve(Response.json(ARK_RESPONSE));
    await (await pending).text();

    expect(notes.filter((note) => note === "clientLeft")).toHaveLength(1);
    expect(notes.indexOf("clientLeft")).toBeLessThan(notes.indexOf("attempt.responded"));
    expect(notes).toContain("ended");
  });

  it("during a stream is reported by the end of its body", async () => {
    const { telemetry, notes } = noteCalls();
    const provider = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
    const body = new ReadableStream<Uint8Array>({ start: (controller) => provider.resolve(controller) });
    const { gateway } = createTestGateway(
      () => new Response(body, { headers: { "content-type": "text/event-stream" } }),
      { telemetry },
    );
    const response = await gateway.fetch(createPost({ ...BODY, stream: true }));
    const controller = await provider.promise;
    controller.enqueue(new TextEncoder().encode(toEvent(EVENT)));
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    controller.close();
    await vi.waitFor(() => expect(notes).toContain("ended"));

    expect(notes.filter((note) => note === "clientLeft")).toHaveLength(1);
    expect(notes.indexOf("clientLeft")).toBeGreaterThan(notes.indexOf("responded"));
    expect(notes.indexOf("clientLeft")).toBeLessThan(notes.indexOf("holdEnded"));
  });

  it("after it has read everything is not reported", async () => {
    const { telemetry, notes } = noteCalls();
    const { gateway } = createTestGateway(stream, { telemetry });
    const leaving = new AbortController();
    const request = new Request(createPost({ ...BODY, stream: true }), { signal: leaving.signal });
    await (await gateway.fetch(request)).text();
    leaving.abort();
    await vi.waitFor(() => expect(notes).toContain("ended"));

    expect(notes).not.toContain("clientLeft");
  });
});

describe("the prompt", () => {
  it("is given to promptKnown only", async () => {
    const prompt = "a prompt canary 88c0";
    const given: string[] = [];
    const others: unknown[] = [];
    const noteInto = (names: readonly string[]): object =>
      Object.fromEntries(names.map((name) => [name, (...args: unknown[]) => void others.push(args)]));
    const telemetry: Telemetry = {
      callStarted(call) {
        others.push({ ...call, headers: undefined });
        return {
          ...noteInto(CALL_FUNCTIONS),
          promptKnown: (text) => void given.push(text),
          attemptStarted(attempt) {
            others.push(attempt);
            return noteInto(["jobAccepted", "polled", "responded", "failed", "ended"]);
          },
        };
      },
    };
    const { post } = createTestGateway(undefined, { telemetry });
    await post({ ...BODY, prompt });
    await post({ model: "image-max", prompt });

    expect(given).toEqual([prompt, prompt]);
    expect(others.length).toBeGreaterThan(10);
    expect(JSON.stringify(others)).not.toContain(prompt);
  });
});

describe("logCalls", () => {
  it("needs a logger with info", () => {
    const logger = { warn() {}, error() {} };
    expect(() => createTestGateway(undefined, { logCalls: true, logger })).toThrow(
      /logCalls needs a logger with the function info/,
    );
  });

  it("writes no line without it", async () => {
    const info = vi.fn<() => void>();
    const { post } = createTestGateway(undefined, { logger: { info, warn() {}, error() {} } });
    await post(BODY);

    expect(info).not.toHaveBeenCalled();
  });
});
