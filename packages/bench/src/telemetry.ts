// What telemetry costs: CPU per request in one process, with a provider that responds at once. The variants take turns.
import { createGateway, type Telemetry } from "@calotype/core";
import { createTelemetry } from "@calotype/opentelemetry";
import { context, createNoopMeter, ProxyTracerProvider } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { ExportResultCode } from "@opentelemetry/core";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";

const RESPONSE = JSON.stringify({
  model: "m",
  created: 1_763_683_200,
  data: [{ url: "https://provider.test/1.png", size: "2048x2048" }],
  usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 },
});
const BODY = JSON.stringify({ model: "seedream-4-5-251128", prompt: "a lighthouse" });

const REQUESTS = 1_500;
const ROUNDS = 15;

function createSender(telemetry: Telemetry | undefined): () => Promise<void> {
  const gateway = createGateway({
    models: { "seedream-4-5-251128": { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "k" }],
    callers: [{ id: "me", key: "key" }],
    billing: { model_details: { "*": { pricing_mode: "per-token", output_token_price: "3.75" } } },
    telemetry,
    fetch: async () => new Response(RESPONSE, { headers: { "content-type": "application/json" } }),
  });
  return async () => {
    const headers = { authorization: "Bearer key", "content-type": "application/json" };
    const request = new Request("http://gateway.test/v1/images/generations", {
      method: "POST",
      headers,
      body: BODY,
    });
    const response = await gateway.fetch(request);
    await response.text();
    if (response.status !== 200) throw new Error(`The gateway responded with ${response.status}.`);
  };
}

/** Microseconds of CPU per request. */
async function measure(send: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  for (let sent = 0; sent < REQUESTS; sent += 10) await Promise.all(Array.from({ length: 10 }, send));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / REQUESTS;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

// `sdk` registers the context manager, which costs every promise of the process something.
const hasSdk = process.argv[2] === "sdk";
if (hasSdk) context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const discard: SpanExporter = {
  export: (_spans, done) => done({ code: ExportResultCode.SUCCESS }),
  shutdown: async () => {},
};
const spans = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter: discard })] });
const meters = new MeterProvider({
  readers: [
    new PeriodicExportingMetricReader({
      exporter: new InMemoryMetricExporter(AggregationTemporality.DELTA),
      exportIntervalMillis: 10_000,
    }),
  ],
});
const noop = { tracer: new ProxyTracerProvider().getTracer("none"), meter: createNoopMeter() };
const recorded = { tracer: spans.getTracer("bench"), meter: meters.getMeter("bench") };
const variants = {
  "without telemetry": createSender(undefined),
  [hasSdk ? "with the SDK" : "with the API, no SDK"]: createSender(createTelemetry(hasSdk ? recorded : noop)),
};
const costs = new Map(Object.keys(variants).map((name) => [name, [] as number[]]));
for (const send of Object.values(variants)) await measure(send);
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [name, send] of Object.entries(variants)) costs.get(name)?.push(await measure(send));
}
const reference = median(costs.get("without telemetry") ?? []);
for (const [name, values] of costs) {
  const cost = median(values);
  const lowest = Math.min(...values);
  process.stdout.write(
    `${name.padEnd(22)} median ${cost.toFixed(0)} µs, lowest ${lowest.toFixed(0)} µs, + ${(cost - reference).toFixed(1)} µs\n`,
  );
}
process.exit();
