import { describe, expect, it } from "vitest";
import { GatewayError } from "./errors.js";
import type { FailureEvent, RequestEvent } from "./events.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import { createLazyQuery } from "./testing/lazy-query.js";
import { createOpenStreams } from "./testing/open-streams.js";
import {
  ARK_KEY,
  CALLER_KEY,
  createPost,
  createTestGateway,
  type Provider,
  refusedConnection,
  type TestGateway,
} from "./testing/test-gateway.js";
import type { Caller, ImageRequest } from "./types.js";

const BODY = { model: "doodle", prompt: "a fox" };
const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

interface Told extends TestGateway {
  readonly requests: readonly RequestEvent[];
  readonly errors: readonly FailureEvent[];
}

/** A gateway that records the calls of its hooks and logger. */
function open(provider?: Provider, options: Partial<GatewayOptions> = {}): Told {
  const requests: RequestEvent[] = [];
  const errors: FailureEvent[] = [];
  const opened = createTestGateway(provider, {
    onRequest: (event) => requests.push(event),
    onError: (event) => errors.push(event),
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
    ...options,
  });
  return { ...opened, requests, errors };
}

const failWith =
  (status: number, code: string): Provider =>
  () =>
    Response.json({ error: { code, message: `The key ${ARK_KEY} is no good.` } }, { status });

describe("beforeSend", () => {
  it("sees the request and its caller, and is waited for", async () => {
    const seen: [ImageRequest, Caller][] = [];
    const order: string[] = [];
    const { post } = createTestGateway(
      () => {
        order.push("sent");
        return Response.json({ data: [{ url: "https://ark.test/1.png" }] });
      },
      {
        callers: [{ id: "me", key: CALLER_KEY, group: "default", limits: { concurrent: 3 } }],
        async beforeSend(request, caller) {
          await tick();
          order.push("checked");
          seen.push([request, caller]);
        },
      },
    );
    await post({ ...BODY, n: 2 });
    expect(order).toEqual(["checked", "sent"]);
    expect(seen).toMatchObject([
      [
        { model: "doodle", operation: "generate", maxImages: 2 },
        { id: "me", group: "default" },
      ],
    ]);
    expect(JSON.stringify(seen)).not.toContain(CALLER_KEY);
  });

  it.each<[string, GatewayError, object]>([
    [
      "its own code",
      new GatewayError("request_refused", "No foxes."),
      { status: 403, error: { code: "request_refused", message: "No foxes.", type: "permission_error" } },
    ],
    [
      "a status of its own, and a field",
      new GatewayError("request_refused", "Try later.", { status: 451, param: "prompt" }),
      { status: 451, error: { code: "request_refused", param: "prompt" } },
    ],
  ])("refuses with %s, and nothing is sent or held", async (_what, error, expected) => {
    const { gateway, post, calls, records, logs, errors } = open(undefined, {
      beforeSend: () => Promise.reject(error),
    });
    for (const _ of [1, 2]) {
      const { status, body } = await post(BODY, { "idempotency-key": "one" });
      expect({ status, ...body }).toMatchObject(expected);
    }
    expect([calls, records, logs]).toEqual([[], [], []]);
    expect(errors).toMatchObject([{ error }, { error }]);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0" });
  });

  it.each<[string, () => void | Promise<void>]>([
    [
      "throws",
      () => {
        throw new Error("the moderation is down");
      },
    ],
    ["rejects", () => Promise.reject(new Error("the moderation is down"))],
    [
      "returns a query that fails",
      () =>
        createLazyQuery<void>(() => {
          throw new Error("the moderation is down");
        }) as Promise<void>,
    ],
  ])("that fails lets nothing pass: it %s", async (_what, beforeSend) => {
    const { post, calls, logs } = open(undefined, { beforeSend, limits: { concurrent: 1 } });
    for (const _ of [1, 2]) {
      const { status, text } = await post(BODY);
      expect([status, text]).toEqual([500, expect.not.stringContaining("moderation")]);
    }
    expect(calls).toEqual([]);
    expect(logs).toHaveLength(2);
    expect(logs).toMatchObject([{ fields: { requestId: expect.any(String) } }, {}]);
  });
});

describe("onRequest and onError", () => {
  const WRONG_KEY = { authorization: "Bearer wrong" };

  it.each<[string, Provider | undefined, object, Record<string, string>, Partial<RequestEvent>]>([
    ["a success", undefined, BODY, {}, { status: 200, caller: "me", model: "doodle", stream: false }],
    ["a wrong key", undefined, BODY, WRONG_KEY, { status: 401, errorCode: "invalid_api_key" }],
    [
      "a wrong field",
      undefined,
      { ...BODY, prompt: 7 },
      {},
      { status: 400, caller: "me", model: "doodle", errorCode: "invalid_request_error" },
    ],
    [
      "an unknown model",
      undefined,
      { ...BODY, model: "nothing" },
      {},
      { status: 404, caller: "me", errorCode: "model_not_found" },
    ],
    ["a provider that refuses", failWith(400, "Bad"), BODY, {}, { status: 400, errorCode: "Bad" }],
    ["a provider that fails", failWith(500, "Broken"), BODY, {}, { status: 502, errorCode: "Broken" }],
    [
      "a provider that refuses our key",
      failWith(401, "AuthenticationError"),
      BODY,
      {},
      { status: 401, errorCode: "upstream_authentication_failed" },
    ],
    [
      "no provider",
      () => Promise.reject(refusedConnection()),
      BODY,
      {},
      { status: 502, errorCode: "upstream_unreachable" },
    ],
  ])("are called once each: %s", async (_what, provider, body, headers, expected) => {
    const { post, requests, errors } = open(provider);
    const response = await post(body, headers);
    const id = response.headers.get("x-request-id");
    expect(requests).toHaveLength(1);
    expect(requests).toMatchObject([{ id, operation: "generate", ...expected }]);
    expect(requests[0]?.durationMs).toBeGreaterThanOrEqual(0);
    const { status = 200 } = expected;
    expect(errors.map((event) => [event.id, event.error.status])).toEqual(status < 400 ? [] : [[id, status]]);
    expect(printed(requests) + printed(errors)).not.toMatch(/canary/);
  });

  it("are called for refusals because of limits and budgets, and for replays", async () => {
    const { post, requests, errors } = open(undefined, {
      limits: { requestsPerMinute: 2 },
      callers: [{ id: "me", key: CALLER_KEY, budget: "0.1" }],
    });
    const key = { "idempotency-key": "one" };
    const responses = [await post(BODY, key), await post(BODY, key), await post(BODY), await post(BODY)];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 403, 429]);
    expect(requests.map(({ status, errorCode }) => errorCode ?? status)).toEqual([
      200,
      200,
      "insufficient_quota",
      "rate_limit_exceeded",
    ]);
    expect(errors).toHaveLength(2);
  });

  it("are not called for paths that are not the gateway's", async () => {
    const { gateway, requests, errors } = open();
    await gateway.fetch(new Request("http://gateway.test/v1/models", { method: "POST" }));
    expect([requests, errors]).toEqual([[], []]);
  });

  it("are called for a method that is not allowed", async () => {
    const { gateway, requests } = open();
    await gateway.fetch(new Request(createPost(BODY).url));
    expect(requests).toMatchObject([{ status: 405, errorCode: "method_not_allowed" }]);
  });

  it("are called when a stream begins, and when it fails", async () => {
    const streams = createOpenStreams();
    const { gateway, requests, errors } = open(streams.provider);
    const response = await gateway.fetch(createPost({ ...BODY, stream: true }));
    expect(requests).toMatchObject([{ status: 200, stream: true }]);
    expect(errors).toEqual([]);
    streams.breakOff();
    await response.text();
    expect(errors).toMatchObject([{ id: requests[0]?.id, error: { code: "upstream_invalid_response" } }]);
    expect(requests).toHaveLength(1);
  });

  it("get no failure if a client disconnected and the rest of its stream was read", async () => {
    const streams = createOpenStreams();
    const { gateway, errors, records } = open(streams.provider);
    const response = await gateway.fetch(createPost({ ...BODY, stream: true }));
    await response.body?.cancel();
    streams.finish();
    await expect.poll(() => records.length).toBe(1);
    expect(errors).toEqual([]);
  });

  it("get a failure for a response without an image that the native endpoint relays", async () => {
    const { postNative, errors } = open(() => Response.json({ error: { code: "Broken", message: "no" } }));
    expect((await postNative(BODY)).status).toBe(200);
    expect(errors).toMatchObject([{ operation: "native", error: { upstreamCode: "Broken" } }]);
  });

  it.each<[string, () => unknown]>([
    [
      "throw",
      () => {
        throw new Error("broken");
      },
    ],
    ["reject", () => Promise.reject(new Error("broken"))],
    ["never end", () => new Promise(() => {})],
  ])("change nothing if they %s", async (_what, hook) => {
    const { post, gateway, records } = open(undefined, { onRequest: hook, onError: hook });
    expect((await post(BODY)).status).toBe(200);
    expect((await post({ model: "doodle" })).status).toBe(400);
    await gateway.close();
    expect(records).toHaveLength(1);
  });
});

describe("each line of the log that concerns a request", () => {
  it.each<[string, Provider | undefined, Partial<GatewayOptions>]>([
    ["a provider that fails", failWith(500, "Broken"), {}],
    ["a provider that refuses our key", failWith(401, "AuthenticationError"), {}],
    ["no provider", () => Promise.reject(refusedConnection()), {}],
    ["a hook that fails", undefined, { onRequest: () => Promise.reject(new Error("broken")) }],
    ["onUsage that fails", undefined, { onUsage: () => Promise.reject(new Error("broken")) }],
    [
      "authenticate that fails",
      undefined,
      { callers: undefined, authenticate: () => Promise.reject(new Error("x")) },
    ],
  ])("has its id and no key: %s", async (_what, provider, options) => {
    const { post, logs } = open(provider, options);
    const { headers } = await post(BODY);
    await expect.poll(() => logs.length).toBeGreaterThan(0);
    const id = headers.get("x-request-id");
    expect(logs.map(({ fields }) => ("requestId" in fields ? fields.requestId : undefined))).toEqual(
      logs.map(() => id),
    );
    expect(printed(logs)).not.toMatch(/canary/);
  });
});

/** All that a log or a console may show of a value, causes of errors too. */
function printed(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    inner instanceof Error ? [Object.entries(inner), inner.message, inner.stack, inner.cause] : inner,
  );
}
