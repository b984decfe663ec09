import { type RequestListener, request } from "node:http";
import { createRequire } from "node:module";
import type { GatewayOptions } from "@calotype/core";
import { toExpressHandler } from "@calotype/express";
import { toNodeHandler } from "@calotype/node";
import { createTelemetry, type TelemetryOptions } from "@calotype/opentelemetry";
import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { HttpInstrumentation } from "@opentelemetry/instrumentation-http";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import express from "express";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { listen } from "./support/listen.js";
import { CALLER_KEY, SEEDREAM, startGateway } from "./support/test-gateway.js";
import { useProviders } from "./support/use-providers.js";

const providers = useProviders();

/** Registers an SDK that keeps its spans in memory. */
function registerSdk(): { readonly spans: () => readonly ReadableSpan[]; readonly provider: TracerProvider } {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(provider);
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  onTestFinished(async () => {
    for (const api of [trace, context, propagation]) api.disable();
    await provider.shutdown();
  });
  return { spans: () => exporter.getFinishedSpans(), provider };
}

interface ServeOptions {
  readonly telemetry?: TelemetryOptions | undefined;
  readonly gateway?: Partial<GatewayOptions> | undefined;
}

/** Serves a gateway with telemetry on a socket. `left` is fulfilled when the connection of a request was closed. */
async function serve(host: "express" | "node:http", options: ServeOptions = {}) {
  const telemetry = createTelemetry(options.telemetry);
  const { gateway } = startGateway(providers(), { telemetry, ...options.gateway });
  const handle: RequestListener =
    host === "express" ? express().use("/ai", toExpressHandler(gateway)) : toNodeHandler(gateway);
  const left = Promise.withResolvers<void>();
  const { url, close } = await listen((req, res) => {
    res.once("close", left.resolve);
    handle(req, res);
  });
  onTestFinished(close);
  const base = host === "express" ? `${url}/ai` : url;
  return { url: `${base}/v1/images/generations`, left: left.promise };
}

const HEADERS = { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" };
const BODY = { model: SEEDREAM, prompt: "a lighthouse" };

const isCall = ({ name }: ReadableSpan): boolean => name.startsWith("generate_content");

const waitForSpan = (spans: () => readonly ReadableSpan[], isIt: (span: ReadableSpan) => boolean) =>
  vi.waitFor(
    () => {
      const found = spans().find(isIt);
      if (found === undefined) throw new Error("The span has not ended.");
      return found;
    },
    { timeout: 10_000 },
  );

describe.each(["express", "node:http"] as const)("a client of %s that disconnects", (host) => {
  it("while it waits leaves a span that says so, and the image is charged", async () => {
    const { spans } = registerSdk();
    const arrived = Promise.withResolvers<void>();
    const response = Promise.withResolvers<Response>();
    const fetch = (): Promise<Response> => {
      arrived.resolve();
      return response.promise;
    };
    const { url, left } = await serve(host, { gateway: { fetch } });
    const sent = request(url, { method: "POST", headers: HEADERS });
    // The connection is destroyed on purpose.
    sent.on("error", () => undefined);
    sent.end(JSON.stringify(BODY));
    await arrived.promise;
    sent.destroy();
    await left;
    response.resolve(
      Response.json({ data: [{ url: "https://ark.test/1.png" }], usage: { generated_images: 1 } }),
    );
    const call = await waitForSpan(spans, isCall);

    expect(call.attributes).toMatchObject({
      "calotype.client.disconnected": true,
      "calotype.hold.state": "settled",
      "calotype.images": 1,
    });
    const events = call.events.map(({ name }) => name);
    expect(events).toContain("calotype.client_disconnected");
    expect(events.indexOf("calotype.client_disconnected")).toBeLessThan(
      events.indexOf("calotype.hold_ended"),
    );
  });

  it("during a stream leaves a span that says so", async () => {
    const { spans } = registerSdk();
    const { url } = await serve(host);
    const { emulator } = providers();
    emulator.faults.add({ body: { chunkBytes: 64, pauseMs: 20 }, times: 1 });
    const sent = request(url, { method: "POST", headers: HEADERS }, (response) =>
      response.once("data", () => sent.destroy()),
    );
    sent.on("error", () => undefined);
    sent.end(JSON.stringify({ ...BODY, stream: true }));
    const call = await waitForSpan(spans, isCall);

    expect(call.attributes).toMatchObject({
      "calotype.client.disconnected": true,
      "calotype.stream": true,
      "calotype.hold.state": "settled",
    });
  });

  it("after its response leaves a span without it", async () => {
    const { spans } = registerSdk();
    const { url } = await serve(host);
    const response = await fetch(url, { method: "POST", headers: HEADERS, body: JSON.stringify(BODY) });
    expect(response.status).toBe(200);
    await response.text();
    const call = await waitForSpan(spans, isCall);

    expect(call.attributes).not.toHaveProperty("calotype.client.disconnected");
  });
});

const CLIENT_SPAN = "b7ad6b7169203331";

describe("with the instrumentation of http", () => {
  it("a call is a child of the span of its request, and the provider gets traceparent only with forwardContext", async () => {
    const { spans, provider } = registerSdk();
    // Only of the server: the test is about what the gateway sends.
    const instrumentation = new HttpInstrumentation({ ignoreOutgoingRequestHook: () => true });
    instrumentation.setTracerProvider(provider);
    instrumentation.enable();
    onTestFinished(() => instrumentation.disable());
    // The instrumentation changes the module when it is required, for all that use it.
    createRequire(import.meta.url)("node:http");
    const forwarded: unknown[] = [];
    for (const [index, forwardContext] of [false, true].entries()) {
      const { url } = await serve("express", { telemetry: { forwardContext } });
      const traceId = `${index + 1}af7651916cd43dd8448eb211c80319c`;
      const headers = { ...HEADERS, traceparent: `00-${traceId}-${CLIENT_SPAN}-01` };
      await (await fetch(url, { method: "POST", headers, body: JSON.stringify(BODY) })).text();
      const find = (isIt: (span: ReadableSpan) => boolean) =>
        waitForSpan(spans, (span) => span.spanContext().traceId === traceId && isIt(span));
      const host = await find(({ parentSpanContext }) => parentSpanContext?.spanId === CLIENT_SPAN);
      const call = await find(isCall);
      const attempt = await find(({ name }) => name === "attempt ark");

      expect(host.instrumentationScope.name).toBe("@opentelemetry/instrumentation-http");
      expect(call.parentSpanContext?.spanId).toBe(host.spanContext().spanId);
      expect(attempt.parentSpanContext?.spanId).toBe(call.spanContext().spanId);
      const { traceparent } = providers().emulator.requests[index]?.headers ?? {};
      forwarded.push(
        traceparent === `00-${traceId}-${attempt.spanContext().spanId}-01` ? "attempt" : traceparent,
      );
    }

    expect(forwarded).toEqual([undefined, "attempt"]);
  });
});
