import { createGateway, type Gateway, type GatewayOptions } from "@calotype/core";
import { type Attributes, context, metrics, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricReader,
  PeriodicExportingMetricReader,
  type ViewOptions,
} from "@opentelemetry/sdk-metrics";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { onTestFinished } from "vitest";
import { createTelemetry, type TelemetryOptions } from "../telemetry.js";

/** What must not be in any exported data. */
export const CANARIES = {
  prompt: "a prompt canary 5d1f",
  callerKey: "caller-canary-5d1f",
  arkKey: "ark-canary-5d1f",
  image: "aW1hZ2UgY2FuYXJ5",
};

interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A call that the provider received. */
export interface SentCall {
  readonly url: string;
  readonly headers: Headers;
  readonly text: string;
}

/** The SDK of a host, with everything that it exports in memory. */
export interface Sdk {
  readonly spans: () => readonly ReadableSpan[];
  /** The metrics as Prometheus reads them. */
  readonly prometheus: () => Promise<string>;
  /** What the SDK's in-memory exporter has of a metric, from the registration until now. */
  readonly metric: (name: string) => Promise<readonly DataPoint[]>;
}

/** A value of a metric: a number, or a histogram. */
interface DataPoint {
  readonly attributes: Attributes;
  readonly value: unknown;
}

/** What a test adds to the SDK. */
interface SdkOptions {
  readonly processors?: readonly SpanProcessor[] | undefined;
  readonly readers?: readonly MetricReader[] | undefined;
  readonly views?: ViewOptions[] | undefined;
}

/** Registers an SDK for the test. */
export function registerSdk({ processors = [], readers = [], views = [] }: SdkOptions = {}): Sdk {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new TracerProvider({
    spanProcessors: [new SimpleSpanProcessor({ exporter }), ...processors],
  });
  const reader = new PrometheusExporter({ preventServerStart: true });
  const inMemory = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  // Exports only when it is told to.
  const exportIntervalMillis = 2 ** 30;
  const memoryReader = new PeriodicExportingMetricReader({ exporter: inMemory, exportIntervalMillis });
  const meterProvider = new MeterProvider({ readers: [reader, memoryReader, ...readers], views });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(tracerProvider);
  metrics.setGlobalMeterProvider(meterProvider);
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  onTestFinished(async () => {
    for (const api of [trace, metrics, context, propagation]) api.disable();
    await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()]);
  });
  return {
    spans: () => exporter.getFinishedSpans(),
    async prometheus() {
      const { resourceMetrics, errors } = await reader.collect();
      if (errors.length > 0) throw new AggregateError(errors);
      return new PrometheusSerializer().serialize(resourceMetrics);
    },
    async metric(name) {
      await memoryReader.forceFlush();
      const collected =
        inMemory
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
      return collected.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
    },
  };
}

export interface ObservedGateway {
  readonly gateway: Gateway;
  readonly calls: readonly SentCall[];
  readonly logs: readonly LogLine[];
  readonly post: (body?: object, headers?: Record<string, string>, init?: RequestInit) => Promise<Response>;
}

export const RESPONSE = {
  model: "ep-1",
  created: 1_763_683_200,
  data: [{ url: "https://ark.test/1.png", size: "2048x2048" }],
  usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 },
};

/** Creates a gateway with telemetry, two channels and a provider in this process. */
export function createObservedGateway(
  provider: (call: SentCall) => Response | Promise<Response> = () => Response.json(RESPONSE),
  options: Partial<GatewayOptions> = {},
  telemetryOptions: TelemetryOptions = {},
): ObservedGateway {
  const calls: SentCall[] = [];
  const logs: LogLine[] = [];
  const log = (level: string) => (fields: object, message: string) =>
    void logs.push({ level, message, fields: { ...fields } });
  const gateway = createGateway({
    models: { "seedream-4-5-251128": { family: "seedream" }, "image-*": { family: "seedream" } },
    channels: ["first", "second"].map((id, index) => ({
      id,
      family: "seedream",
      apiKey: CANARIES.arkKey,
      baseUrl: `https://${id}.test/api/v3`,
      priority: 1 - index,
      modelMapping: { "seedream-4-5-251128": `ep-${id}`, "image-*": "ep-image" },
    })),
    callers: [{ id: "web-shop", key: CANARIES.callerKey }],
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.3" } } },
    logger: { info: log("info"), warn: log("warn"), error: log("error") },
    telemetry: createTelemetry(telemetryOptions),
    async fetch(url, init) {
      const text = typeof init.body === "string" ? init.body : await new Response(init.body).text();
      const call = { url, headers: new Headers(init.headers), text };
      calls.push(call);
      return provider(call);
    },
    ...options,
  });
  onTestFinished(() => gateway.close({ deadlineSeconds: 1 }));
  const post: ObservedGateway["post"] = (body = {}, headers = {}, init = {}) =>
    gateway.fetch(
      new Request("http://gateway.test/v1/images/generations", {
        method: "POST",
        headers: {
          authorization: `Bearer ${CANARIES.callerKey}`,
          "content-type": "application/json",
          ...headers,
        },
        body: JSON.stringify({ model: "seedream-4-5-251128", prompt: CANARIES.prompt, ...body }),
        ...init,
      }),
    );
  return { gateway, calls, logs, post };
}
