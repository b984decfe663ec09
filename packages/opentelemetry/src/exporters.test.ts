import { type Attributes, type Context, trace } from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { SimpleSpanProcessor } from "@opentelemetry/sdk-trace";
import { describe, expect, it, vi } from "vitest";
import { type Receiver, startReceiver } from "./testing/receiver.js";
import { CANARIES, createObservedGateway, RESPONSE, registerSdk, type Sdk } from "./testing/setup.js";

/** An SDK that also sends its spans and metrics to a collector. */
async function registerWithCollector(): Promise<{
  readonly sdk: Sdk;
  readonly receiver: Receiver;
  readonly sendMetrics: () => Promise<void>;
}> {
  const receiver = await startReceiver();
  const spans = new OTLPTraceExporter({ url: `${receiver.url}/v1/traces` });
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ url: `${receiver.url}/v1/metrics` }),
  });
  const sdk = registerSdk({
    processors: [new SimpleSpanProcessor({ exporter: spans })],
    readers: [reader],
  });
  return { sdk, receiver, sendMetrics: () => reader.forceFlush() };
}

/** The parts of OTLP's JSON that the tests read. */
interface OtlpAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}
interface OtlpPoint {
  readonly attributes: readonly OtlpAttribute[];
  readonly asInt?: unknown;
  readonly asDouble?: unknown;
  readonly count?: unknown;
  readonly sum?: unknown;
  readonly explicitBounds?: readonly number[];
}
interface OtlpMetric {
  readonly name: string;
  readonly unit: string;
  readonly sum?: { readonly dataPoints: readonly OtlpPoint[]; readonly isMonotonic: boolean };
  readonly gauge?: { readonly dataPoints: readonly OtlpPoint[] };
  readonly histogram?: { readonly dataPoints: readonly OtlpPoint[] };
}
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly events: readonly { readonly name: string }[];
}
interface OtlpBody {
  readonly resourceSpans?: readonly {
    readonly scopeSpans: readonly { readonly scope: { name: string }; readonly spans: readonly OtlpSpan[] }[];
  }[];
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly OtlpMetric[] }[];
  }[];
}

function readSpans({ bodies }: Receiver): OtlpSpan[] {
  const read = bodies.map((body) => JSON.parse(body) as OtlpBody);
  return read
    .flatMap(({ resourceSpans = [] }) => resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans);
}

/** The metrics of the last export. */
function readMetrics({ bodies }: Receiver): ReadonlyMap<string, OtlpMetric> {
  const read = bodies.map((body) => (JSON.parse(body) as OtlpBody).resourceMetrics);
  const last = read.findLast((one) => one !== undefined) ?? [];
  const metrics = last.flatMap(({ scopeMetrics }) => scopeMetrics).flatMap((scope) => scope.metrics);
  return new Map(metrics.map((metric) => [metric.name, metric]));
}

const read = (attributes: readonly OtlpAttribute[], name: string): unknown =>
  Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0];

describe("a collector", () => {
  it("gets the spans of a call by OTLP", async () => {
    const { receiver } = await registerWithCollector();
    const { post } = createObservedGateway();
    const { headers } = await post();
    await vi.waitFor(() => expect(readSpans(receiver)).toHaveLength(2));

    const spans = readSpans(receiver);
    const call = spans.find(({ name }) => name === "generate_content seedream-4-5-251128");
    const attempt = spans.find(({ name }) => name === "attempt first");
    expect(attempt).toMatchObject({ traceId: call?.traceId, parentSpanId: call?.spanId });
    expect(read(call?.attributes ?? [], "calotype.request.id")).toBe(headers.get("x-request-id"));
    expect(read(call?.attributes ?? [], "calotype.charge")).toBe("0.3");
    expect(call?.events.map(({ name }) => name)).toContain("calotype.hold_ended");
  });

  it("gets the metrics by OTLP, as they are in memory", async () => {
    const { sdk, receiver, sendMetrics } = await registerWithCollector();
    const { post } = createObservedGateway(undefined, { limits: { requestsPerMinute: 2 } });
    for (const status of [200, 200, 429]) expect((await post()).status).toBe(status);
    await vi.waitFor(() => expect(readSpans(receiver)).toHaveLength(5));
    await sendMetrics();

    const metrics = readMetrics(receiver);
    const images = metrics.get("calotype.images");
    expect(images).toMatchObject({ unit: "{image}", sum: { isMonotonic: true } });
    expect(images?.sum?.dataPoints).toMatchObject([{ asDouble: 2 }]);
    const durations = metrics.get("gen_ai.client.operation.duration");
    expect(durations?.unit).toBe("s");
    expect(durations?.histogram?.dataPoints[0]?.explicitBounds?.at(-1)).toBe(900);
    const refused = metrics.get("calotype.requests.refused")?.sum?.dataPoints ?? [];
    expect(refused.map(({ attributes }) => read(attributes, "calotype.limit"))).toEqual(["requests"]);
    const states = metrics.get("calotype.channel.state")?.gauge?.dataPoints ?? [];
    expect(states).toHaveLength(8);

    expect(await sdk.metric("calotype.images")).toMatchObject([
      {
        value: 2,
        attributes: { "gen_ai.request.model": "seedream-4-5-251128", "calotype.channel": "first" },
      },
    ]);
    expect(await sdk.metric("gen_ai.client.operation.duration")).toMatchObject([
      { value: { count: 2 } },
      { value: { count: 1 }, attributes: { "error.type": "rate_limit_exceeded" } },
    ]);
    for (const name of metrics.keys())
      expect([name, (await sdk.metric(name)).length > 0]).toEqual([name, true]);
  });
});

describe("measurements", () => {
  it("are recorded in the context of their call, for SDKs with exemplars", async () => {
    const recorded: { readonly traceId: string | undefined }[] = [];
    const process = (attributes: Attributes, context?: Context): Attributes => {
      recorded.push({ traceId: context && trace.getSpanContext(context)?.traceId });
      return attributes;
    };
    const views = ["calotype.*", "gen_ai.*"].map((instrumentName) => ({
      instrumentName,
      attributesProcessors: [{ process }],
    }));
    const sdk = registerSdk({ views });
    const { post } = createObservedGateway(({ url }) =>
      url.includes("first")
        ? Response.json({ error: { code: "AuthenticationError" } }, { status: 401 })
        : Response.json(RESPONSE),
    );
    await post();
    await vi.waitFor(() => expect(sdk.spans()).toHaveLength(3));

    expect(recorded.length).toBeGreaterThan(8);
    const traceId = sdk.spans()[0]?.spanContext().traceId;
    expect(new Set(recorded.map((one) => one.traceId))).toEqual(new Set([traceId]));
  });
});

it("no prompt, key, image or message of a provider is in what is exported", async () => {
  const { sdk, receiver, sendMetrics } = await registerWithCollector();
  const { post, logs } = createObservedGateway(
    ({ url, text }) =>
      url.includes("first")
        ? Response.json(
            { error: { code: "InternalServiceError", message: `failed: ${text}` } },
            { status: 500 },
          )
        : Response.json({ ...RESPONSE, data: [{ b64_json: CANARIES.image, size: "2048x2048" }] }),
    {
      logCalls: true,
      channels: ["first", "second"].map((id, index) => ({
        id,
        family: "seedream",
        apiKey: CANARIES.arkKey,
        baseUrl: `https://${id}.test/api/v3`,
        priority: 1 - index,
        retryUnsafe: true,
      })),
    },
  );
  const image = `data:image/png;base64,${CANARIES.image}`;
  const bodies = [{}, { response_format: "b64_json", image }, { model: CANARIES.prompt }, { n: "many" }];
  for (const body of bodies) await (await post(body)).text();
  await vi.waitFor(() =>
    expect(receiver.bodies.join("").match(/"generate_content/g)?.length).toBeGreaterThan(3),
  );

  await sendMetrics();
  expect(readMetrics(receiver).size).toBeGreaterThan(5);
  const exported = [...receiver.bodies, await sdk.prometheus()].join("\n");
  expect(exported).toContain("attempt second");
  for (const canary of Object.values(CANARIES)) expect(exported).not.toContain(canary);
  expect(logs.filter(({ level }) => level === "info").length).toBeGreaterThan(8);
  expect(logs.filter(({ level }) => level === "warn").length).toBeGreaterThan(0);
  for (const canary of Object.values(CANARIES)) expect(JSON.stringify(logs)).not.toContain(canary);
});

it("the prompt is in the span of its call, and nowhere else, if the operator asks for it", async () => {
  const { sdk, receiver, sendMetrics } = await registerWithCollector();
  const { post, logs } = createObservedGateway(undefined, { logCalls: true }, { recordPrompts: true });
  await (await post()).text();
  await (await post({ prompt: `${CANARIES.prompt} ${"x".repeat(100_000)}` })).text();
  await vi.waitFor(() => expect(readSpans(receiver)).toHaveLength(4));
  await sendMetrics();

  const messages = [{ role: "user", parts: [{ type: "text", content: CANARIES.prompt }] }];
  const [call, long] = sdk.spans().filter(({ name }) => name.startsWith("generate"));
  expect(JSON.parse(String(call?.attributes["gen_ai.input.messages"]))).toEqual(messages);
  expect(String(long?.attributes["gen_ai.input.messages"]).length).toBeLessThan(17_000);
  const attempts = sdk.spans().filter(({ name }) => name.startsWith("attempt"));
  const others = [
    ...attempts.map(({ attributes, events }) => ({ attributes, events })),
    logs,
    await sdk.prometheus(),
  ];
  expect(JSON.stringify(others)).not.toContain(CANARIES.prompt);
});
