// What telemetry costs: CPU per request in one process, with a provider that responds at once. Short blocks of requests with
// and without telemetry take turns, so that other work on the machine meets both. The result is the median of the pairs.
import { createGateway, type Telemetry } from "@calotype/core";
import { createTelemetry } from "@calotype/opentelemetry";
import { context } from "@opentelemetry/api";
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

/** Requests of a block: enough that the clock of the CPU time is exact, and few enough that a pair takes under a second. */
const REQUESTS = 400;
const PAIRS = 60;

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

function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? 0;
}

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
const recorded = { tracer: spans.getTracer("bench"), meter: meters.getMeter("bench") };
const sendPlain = createSender(undefined);
const sendObserved = createSender(createTelemetry(hasSdk ? recorded : {}));
const plain: number[] = [];
const observed: number[] = [];
for (let warmUp = 0; warmUp < 6; warmUp += 1) {
  await measure(sendPlain);
  await measure(sendObserved);
}
for (let pair = 0; pair < PAIRS; pair += 1) {
  // In turn first and last, so that a load that grows favours neither.
  const before = await measure(sendPlain);
  observed.push(((await measure(sendObserved)) + (await measure(sendObserved))) / 2);
  plain.push((before + (await measure(sendPlain))) / 2);
}
const ratios = observed.map((cost, index) => cost / (plain[index] ?? cost));
const show = (ratio: number): string => `${((ratio - 1) * 100).toFixed(1)} %`;
const title = hasSdk ? "with the SDK" : "with the API, no SDK";
process.stdout.write(
  `without telemetry: ${quantile(plain, 0.5).toFixed(0)} µs of CPU per request\n` +
    `${title}: ${quantile(observed, 0.5).toFixed(0)} µs; ` +
    `pairs: median ${show(quantile(ratios, 0.5))}, quartiles ${show(quantile(ratios, 0.25))} and ${show(quantile(ratios, 0.75))}\n`,
);
process.exit();
