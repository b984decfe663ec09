import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { describe, expect, it, vi } from "vitest";
import { createTelemetry } from "./telemetry.js";
import { CANARIES, createObservedGateway, RESPONSE, registerSdk } from "./testing/setup.js";

const MODEL = "seedream-4-5-251128";
const busy = (): Response =>
  Response.json({ error: { code: "ServerOverloaded", message: "busy" } }, { status: 429 });

const isCall = ({ name }: ReadableSpan): boolean => name.startsWith("generate_content");
const eventsOf = ({ events }: ReadableSpan): string[] => events.map(({ name }) => name);

/** Waits until the spans of so many calls have ended. */
function waitForCalls(spans: () => readonly ReadableSpan[], count = 1) {
  return vi.waitFor(() => {
    const calls = spans().filter(isCall);
    expect(calls).toHaveLength(count);
    return { calls, attempts: spans().filter((span) => !isCall(span)) };
  });
}

describe("traces", () => {
  it("have a span for the call and a child for its attempt", async () => {
    const sdk = registerSdk();
    const { post } = createObservedGateway();
    const response = await post();
    await response.text();
    const { calls, attempts } = await waitForCalls(sdk.spans);
    const [call] = calls;

    expect(call).toMatchObject({ name: `generate_content ${MODEL}`, kind: SpanKind.SERVER, ended: true });
    expect(call?.attributes).toEqual({
      "gen_ai.operation.name": "generate_content",
      "gen_ai.output.type": "image",
      "gen_ai.provider.name": "volcengine",
      "gen_ai.request.model": MODEL,
      "gen_ai.response.model": "ep-first",
      "gen_ai.usage.output_tokens": 16_384,
      "http.response.status_code": 200,
      "calotype.request.id": response.headers.get("x-request-id"),
      "calotype.endpoint": "generate",
      "calotype.call.kind": "request",
      "calotype.caller": "web-shop",
      "calotype.model.entry": MODEL,
      "calotype.stream": false,
      "calotype.images": 1,
      "calotype.charge": "0.3",
      "calotype.channel": "first",
      "calotype.hold.amount": "0.3",
      "calotype.hold.state": "settled",
    });
    expect(call && eventsOf(call)).toEqual([
      "calotype.caller_known",
      "calotype.request_read",
      "calotype.held",
      "calotype.hold_ended",
      "calotype.first_image",
      "calotype.response",
    ]);
    expect(attempts).toHaveLength(1);
    expect(attempts[0]).toMatchObject({
      name: "attempt first",
      kind: SpanKind.CLIENT,
      parentSpanContext: { spanId: call?.spanContext().spanId },
      attributes: {
        "calotype.channel": "first",
        "calotype.channel.key": 0,
        "calotype.upstream.model": "ep-first",
        "gen_ai.provider.name": "volcengine",
        "http.response.status_code": 200,
        "server.address": "first.test",
      },
    });
  });

  it("show a failover with the cooldown that it began", async () => {
    const sdk = registerSdk();
    const { post } = createObservedGateway(({ url }) =>
      url.includes("first") ? busy() : Response.json(RESPONSE),
    );
    // The first failures of a channel do not cool it.
    for (let index = 0; index < 4; index += 1) expect((await post()).status).toBe(200);
    const { calls, attempts } = await waitForCalls(sdk.spans, 4);

    const failed = attempts.filter(({ attributes }) => attributes["error.type"] !== undefined);
    expect(failed.length).toBeGreaterThan(0);
    for (const { status, attributes } of failed) {
      expect(status.code).toBe(SpanStatusCode.ERROR);
      expect(attributes).toMatchObject({ "calotype.channel": "first", "http.response.status_code": 429 });
    }
    const cooled = failed.find((span) => eventsOf(span).includes("calotype.cooldown_began"));
    expect(cooled?.events[0]?.attributes).toMatchObject({
      "calotype.cooldown.until": expect.stringMatching(/Z$/),
    });
    for (const call of calls) expect(call.attributes["calotype.channel"]).toBe("second");
    const text = await sdk.prometheus();
    expect(text).toMatch(/calotype_cooldowns_total\{[^}]*calotype_channel="first"[^}]*\} 1/);
    expect(text).toMatch(
      /calotype_channel_state\{calotype_channel="first",calotype_channel_state="cooling"[^}]*\} 1/,
    );
    expect(text).toMatch(
      /calotype_channel_state\{calotype_channel="second",calotype_channel_state="ready"[^}]*\} 1/,
    );
  });

  it("end with the stream, also if it breaks off", async () => {
    const sdk = registerSdk();
    const { post } = createObservedGateway(() => {
      let reads = 0;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          reads += 1;
          if (reads > 1) return controller.error(new Error("broken"));
          const image = {
            type: "image_generation.partial_succeeded",
            image_index: 0,
            url: "https://ark.test/1.png",
          };
          return controller.enqueue(
            new TextEncoder().encode(
              `event: image_generation.partial_succeeded\ndata: ${JSON.stringify(image)}\n\n`,
            ),
          );
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    const response = await post({ stream: true });
    expect(sdk.spans()).toEqual([]);
    await response.text();
    const { calls, attempts } = await waitForCalls(sdk.spans);

    expect(calls[0]?.status.code).toBe(SpanStatusCode.ERROR);
    expect(calls[0]?.attributes).toMatchObject({
      "calotype.stream": true,
      "calotype.images": 1,
      "http.response.status_code": 200,
      "error.type": expect.stringMatching(/^upstream_/),
    });
    expect(calls[0] && eventsOf(calls[0])).toEqual(
      expect.arrayContaining(["calotype.response", "calotype.first_image", "calotype.hold_ended"]),
    );
    expect(attempts[0]?.attributes["error.type"]).toBe("broken");
  });

  it("show a client that left before its request was sent", async () => {
    const sdk = registerSdk();
    const leaving = new AbortController();
    const { post, calls: sent } = createObservedGateway(undefined, { beforeSend: () => leaving.abort() });
    await post({}, {}, { signal: leaving.signal }).then((response) => response.text());
    const { calls } = await waitForCalls(sdk.spans);

    expect(sent).toEqual([]);
    expect(calls[0]?.attributes).toMatchObject({
      "error.type": "client_closed_request",
      "calotype.hold.state": "released",
    });
    expect(await sdk.prometheus()).toMatch(/calotype_holds_open\{[^}]*\} 0/);
  });

  it("have one child for each attempt of each upstream call", async () => {
    const sdk = registerSdk();
    const { post } = createObservedGateway(() => Response.json(RESPONSE), {
      models: { "doubao-seedream-5-5": { family: "seedream" } },
      channels: [{ id: "ark", family: "seedream", apiKey: "k" }],
    });
    const response = await post({ model: "doubao-seedream-5-5", n: 3 });
    expect(response.status).toBe(200);
    await response.text();
    const { calls, attempts } = await waitForCalls(sdk.spans);

    expect(
      attempts
        .map(({ attributes }) => Number(attributes["calotype.upstream.call"]))
        .toSorted((a, b) => a - b),
    ).toEqual([0, 1, 2]);
    for (const { parentSpanContext } of attempts) {
      expect(parentSpanContext?.spanId).toBe(calls[0]?.spanContext().spanId);
    }
    expect(calls[0]?.attributes["calotype.images"]).toBe(3);
  });

  it("link the run of a task to its submission", async () => {
    const sdk = registerSdk();
    const { post, gateway } = createObservedGateway();
    const response = await post({}, { prefer: "respond-async" });
    expect(response.status).toBe(202);
    const { id } = (await response.json()) as { id: string };
    await gateway.runTasks();
    const { calls } = await waitForCalls(sdk.spans, 2);

    const submission = calls.find(({ attributes }) => attributes["calotype.call.kind"] === "submission");
    const run = calls.find(({ attributes }) => attributes["calotype.call.kind"] === "task");
    expect(submission?.attributes).toMatchObject({ "calotype.task": id, "http.response.status_code": 202 });
    expect(run?.attributes).toMatchObject({ "calotype.task": id, "calotype.charge": "0.3" });
    expect(run?.links).toMatchObject([{ context: { spanId: submission?.spanContext().spanId } }]);
    expect(run?.spanContext().traceId).not.toBe(submission?.spanContext().traceId);
  });
});

/** Writes an event of a stream. */
function write(
  controller: ReadableStreamDefaultController<Uint8Array>,
  event: { readonly type: string; readonly [field: string]: unknown },
): void {
  controller.enqueue(new TextEncoder().encode(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`));
}

describe("without an SDK", () => {
  it("no call is observed", async () => {
    const telemetry = createTelemetry();
    expect(telemetry.callStarted({ id: "req_1", operation: "generate", kind: "request" })).toBeUndefined();
  });
});

describe("a client that disconnects during a stream", () => {
  it("does not end the trace before the provider's stream has ended", async () => {
    const sdk = registerSdk();
    const provider = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
    const { post } = createObservedGateway(() => {
      const body = new ReadableStream<Uint8Array>({ start: (controller) => provider.resolve(controller) });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    const pending = post({ stream: true });
    const controller = await provider.promise;
    const image = {
      type: "image_generation.partial_succeeded",
      image_index: 0,
      url: "https://ark.test/1.png",
    };
    write(controller, image);
    const reader = (await pending).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    expect(sdk.spans()).toEqual([]);
    write(controller, { ...image, image_index: 1 });
    write(controller, { type: "image_generation.completed", usage: { generated_images: 2 } });
    controller.close();
    const { calls } = await waitForCalls(sdk.spans);

    expect(calls[0]?.attributes).toMatchObject({ "calotype.images": 2, "calotype.hold.state": "settled" });
  });
});

describe("the parent of a call", () => {
  const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

  it("is what the request names, and the provider does not learn it", async () => {
    const sdk = registerSdk();
    const { post, calls: sent } = createObservedGateway();
    await post({}, { traceparent: TRACEPARENT });
    const { calls } = await waitForCalls(sdk.spans);

    expect(calls[0]?.parentSpanContext).toMatchObject({
      traceId: "0af7651916cd43dd8448eb211c80319c",
      spanId: "b7ad6b7169203331",
    });
    expect(sent[0]?.headers.get("traceparent")).toBeNull();
  });

  it("is the active span of the host, and the provider learns the attempt with forwardContext", async () => {
    const sdk = registerSdk();
    const { post, calls: sent } = createObservedGateway(undefined, {}, { forwardContext: true });
    const host = trace.getTracer("host").startSpan("POST /images");
    await context.with(trace.setSpan(context.active(), host), () => post({}, { traceparent: TRACEPARENT }));
    const { calls, attempts } = await waitForCalls(sdk.spans);

    expect(calls[0]).toMatchObject({
      kind: SpanKind.INTERNAL,
      parentSpanContext: { spanId: host.spanContext().spanId },
    });
    const { traceId, spanId } = attempts[0]?.spanContext() ?? {};
    expect(sent[0]?.headers.get("traceparent")).toBe(`00-${traceId}-${spanId}-01`);
  });

  it("is active while the request to the provider is sent", async () => {
    const sdk = registerSdk();
    let active: string | undefined;
    const { post } = createObservedGateway(() => {
      active = trace.getActiveSpan()?.spanContext().spanId;
      return Response.json(RESPONSE);
    });
    await post();
    const { attempts } = await waitForCalls(sdk.spans);

    expect(active).toBe(attempts[0]?.spanContext().spanId);
    expect(propagation.fields()).toContain("traceparent");
  });
});

describe("metrics", () => {
  it("count refusals by limits, and have only configured names", async () => {
    const sdk = registerSdk();
    const { post } = createObservedGateway(undefined, { limits: { requestsPerMinute: 2 } });
    const bodies = [
      { model: "image-secret-1" },
      { model: "image-secret-2" },
      {},
      { model: "not-configured" },
    ];
    const statuses: number[] = [];
    for (const body of bodies) statuses.push((await post(body)).status);
    expect(statuses).toEqual([200, 200, 429, 404]);
    await waitForCalls(sdk.spans, 4);
    const text = await sdk.prometheus();

    expect(text).toMatch(/calotype_requests_refused_total\{[^}]*error_type="rate_limit_exceeded"[^}]*\} 1/);
    expect(text).toMatch(/calotype_images_total\{[^}]*gen_ai_request_model="image-\*"[^}]*\} 2/);
    expect(text).toMatch(/calotype_charge_total\{[^}]*\} 0\.6/);
    expect(text).toMatch(/gen_ai_client_operation_duration_bucket\{[^}]*le="900"\}/);
    expect(text).toMatch(/gen_ai_client_token_usage_sum\{[^}]*gen_ai_token_type="output"[^}]*\} 32768/);
    expect(text).toMatch(/calotype_time_to_first_image_count\{/);
    expect(text).toMatch(/calotype_attempt_duration_count\{/);
    expect(text).toMatch(/calotype_holds_open\{[^}]*\} 0/);
    expect(text).toMatch(/calotype_holds_ended_total\{[^}]*calotype_hold_state="settled"[^}]*\} 2/);
    expect(text).not.toMatch(/secret|not-configured|web-shop/);
  });

  it("have how long requests waited for their limits, also of those that were refused", async () => {
    const sdk = registerSdk();
    const limits = { concurrent: 1, waitSeconds: 0.3 };
    const { promise: held, resolve: end } = Promise.withResolvers<void>();
    const { post } = createObservedGateway(
      async () => {
        await held;
        return Response.json(RESPONSE);
      },
      { limits },
    );
    const first = post();
    const second = await post();
    end();
    expect([(await first).status, second.status]).toEqual([200, 429]);
    await waitForCalls(sdk.spans, 2);
    const text = await sdk.prometheus();
    expect(text).toMatch(/calotype_wait_duration_count\{[^}]*error_type="rate_limit_exceeded"[^}]*\} 1/);
    const waits = sdk.spans().map(({ attributes }) => attributes["calotype.wait.duration"]);
    expect(waits.filter((wait) => wait !== undefined)).toEqual([expect.closeTo(0.3, 0)]);
  });

  it("have the caller if the operator asks for it", async () => {
    const sdk = registerSdk();
    const { post } = createObservedGateway(undefined, {}, { callerInMetrics: true });
    await post();
    await waitForCalls(sdk.spans);

    expect(await sdk.prometheus()).toMatch(/calotype_images_total\{[^}]*calotype_caller="web-shop"[^}]*\} 1/);
  });
});

describe("logs", () => {
  it("tell the whole history of a call under its request id, with the ids of its trace", async () => {
    const sdk = registerSdk();
    const { post, logs } = createObservedGateway(
      ({ url }) =>
        url.includes("first")
          ? Response.json({ error: { code: "AuthenticationError" } }, { status: 401 })
          : Response.json(RESPONSE),
      { logCalls: true },
    );
    const response = await post();
    const requestId = response.headers.get("x-request-id");
    const { calls } = await waitForCalls(sdk.spans);
    const { traceId, spanId } = calls[0]?.spanContext() ?? {};

    const lines = logs.filter(({ fields }) => fields["requestId"] === requestId);
    expect(lines.map(({ message }) => message)).toEqual([
      "A hold was made.",
      "A channel's key or account was refused by its provider.",
      "An attempt got its result.",
      "A cooldown began.",
      "An attempt got its result.",
      "A hold was settled.",
      "A response begins.",
      "A call ended.",
    ]);
    for (const { fields } of lines) expect(fields).toMatchObject({ trace_id: traceId, span_id: spanId });
    expect(lines[5]?.fields).toMatchObject({ charge: "0.3", channel: "second", images: 1 });
    expect(JSON.stringify(logs)).not.toContain(CANARIES.prompt);
  });
});
