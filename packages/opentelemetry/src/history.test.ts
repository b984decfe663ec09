import { createMemoryLedger } from "@calotype/core/stores";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { describe, expect, it, vi } from "vitest";
import { darkroom } from "./testing/darkroom.js";
import {
  createObservedGateway,
  type ObservedGateway,
  RESPONSE,
  registerSdk,
  type SentCall,
} from "./testing/setup.js";

const isCall = ({ name }: ReadableSpan): boolean => name.startsWith("generate_content");

/** Waits until the spans of this number of calls have ended. Returns each with its attempts. */
function waitForCalls(spans: () => readonly ReadableSpan[], count: number) {
  return vi.waitFor(
    () => {
      const calls = spans().filter(isCall);
      expect(calls).toHaveLength(count);
      return calls.map((call) => {
        const { spanId } = call.spanContext();
        return {
          call,
          attempts: spans().filter(({ parentSpanContext }) => parentSpanContext?.spanId === spanId),
        };
      });
    },
    { timeout: 10_000 },
  );
}

/** The log lines that a search for a request's id finds. */
function search({ logs }: Pick<ObservedGateway, "logs">, requestId: unknown): string[] {
  return logs.filter(({ fields }) => fields["requestId"] === requestId).map(({ message }) => message);
}

const refuseFirst = ({ url }: SentCall): Response =>
  url.includes("first")
    ? Response.json({ error: { code: "AuthenticationError" } }, { status: 401 })
    : Response.json(RESPONSE);

describe("a channel that cools down", () => {
  it("is in the trace and in the log of the calls that skip it", async () => {
    const sdk = registerSdk();
    const observed = createObservedGateway(refuseFirst, { logCalls: true });
    await observed.post();
    const response = await observed.post();
    const [, second] = await waitForCalls(sdk.spans, 2);

    expect(second?.attempts.map(({ name }) => name)).toEqual(["attempt second"]);
    const skipped = second?.call.events.find(({ name }) => name === "calotype.channel_skipped");
    expect(skipped?.attributes).toEqual({
      "calotype.channel": "first",
      "calotype.channel.state": "cooling",
      "calotype.cooldown.scope": "channel",
      "calotype.cooldown.reason": "credential",
      "calotype.cooldown.until": expect.stringMatching(/Z$/),
    });
    expect(search(observed, response.headers.get("x-request-id"))).toEqual([
      "A hold was made.",
      "A channel was skipped because it cools down.",
      "An attempt got its result.",
      "A hold was settled.",
      "A response begins.",
      "A call ended.",
    ]);
  });
});

describe("a request that a limit refuses", () => {
  it.each([
    ["requests", "rate_limit_exceeded", { limits: { requestsPerMinute: 1 } }],
    [
      "budget",
      "insufficient_quota",
      { callers: [{ id: "web-shop", key: "caller-canary-5d1f", budget: "0.5" }] },
    ],
  ])("says that it was the limit of %s", async (limit, code, options) => {
    const sdk = registerSdk();
    const observed = createObservedGateway(undefined, { logCalls: true, ...options });
    await observed.post();
    const response = await observed.post();
    const [, refused] = await waitForCalls(sdk.spans, 2);

    expect(refused?.call.attributes).toMatchObject({ "error.type": code, "calotype.limit": limit });
    expect(refused?.attempts).toEqual([]);
    const requestId = response.headers.get("x-request-id");
    expect(observed.logs.findLast(({ fields }) => fields["requestId"] === requestId)).toMatchObject({
      message: "A call ended.",
      fields: { limit, errorCode: code },
    });
    expect(await sdk.metric("calotype.requests.refused")).toMatchObject([
      { value: 1, attributes: { "calotype.limit": limit, "error.type": code } },
    ]);
  });
});

const FILM = {
  families: [darkroom],
  models: { film: { family: "darkroom" } },
  channels: [{ id: "one", family: "darkroom", apiKey: "canary-one" }],
  logCalls: true,
};
const isSubmission = ({ url }: SentCall): boolean => url.endsWith("/develop");

describe("a provider's job", () => {
  it("is in the span of its attempt with every poll, and in the log", async () => {
    const sdk = registerSdk();
    const states = [{}, {}, { picture: "https://darkroom.test/1.png" }];
    const observed = createObservedGateway((call) => {
      if (isSubmission(call)) return Response.json({ id: "t1" });
      const state = states.shift();
      return state === undefined ? new Response("busy", { status: 503 }) : Response.json(state);
    }, FILM);
    const response = await observed.post({ model: "film" });
    expect(response.status).toBe(200);
    const [{ attempts } = { attempts: [] }] = await waitForCalls(sdk.spans, 1);

    expect(attempts).toHaveLength(1);
    const [attempt] = attempts;
    expect(attempt?.events.map(({ name }) => name)).toEqual([
      "calotype.task_accepted",
      "calotype.polled",
      "calotype.polled",
      "calotype.polled",
    ]);
    expect(attempt?.attributes).toMatchObject({ "calotype.upstream.task": "t1", "calotype.polls": 3 });
    expect(attempt?.attributes["calotype.polls.wait"]).toBeGreaterThan(0);
    for (const { attributes } of attempt?.events.slice(1) ?? []) {
      expect(attributes).toMatchObject({ "http.response.status_code": 200 });
    }
    const requestId = response.headers.get("x-request-id");
    expect(search(observed, requestId)).toContain("A provider accepted a job.");
    const ended = observed.logs.find(({ message }) => message === "An attempt got its result.");
    expect(ended?.fields).toMatchObject({ requestId, polls: 3 });
  });

  it("that another process continues has a trace that links to the request, and the same id in the log", async () => {
    const sdk = registerSdk();
    const ledger = createMemoryLedger();
    const first = createObservedGateway((call) => Response.json(isSubmission(call) ? { id: "t1" } : {}), {
      ...FILM,
      ledger,
    });
    const pending = first.post({ model: "film" });
    await vi.waitFor(() => expect(first.calls.length).toBeGreaterThan(1));
    await first.gateway.close({ deadlineSeconds: 0.01 });
    const requestId = (await pending).headers.get("x-request-id");
    await waitForCalls(sdk.spans, 1);

    const next = createObservedGateway(() => Response.json({ picture: "https://darkroom.test/1.png" }), {
      ...FILM,
      ledger,
    });
    next.gateway.start();
    const [request, continued] = await waitForCalls(sdk.spans, 2);

    expect(continued?.call.attributes).toMatchObject({
      "calotype.call.kind": "continued",
      "calotype.request.id": requestId,
      "calotype.charge": "0.3",
    });
    expect(continued?.call.links).toMatchObject([
      { context: { spanId: request?.call.spanContext().spanId } },
    ]);
    expect(continued?.attempts[0]?.attributes).toMatchObject({
      "calotype.continued": true,
      "calotype.polls": 1,
    });
    expect(search(next, requestId)).toEqual(
      expect.arrayContaining(["An attempt got its result.", "A hold was settled.", "A call ended."]),
    );
  });
});
