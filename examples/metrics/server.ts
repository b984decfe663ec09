// An Express app with an image-generation gateway whose metrics Prometheus reads at GET /metrics. Its environment: PORT,
// CALOTYPE_API_KEY, ARK_API_KEY, ARK_BASE_URL. Without an account at Volcengine Ark, the images are emulated.
import { createGateway } from "@calotype/core";
import { createEmulator } from "@calotype/emulator";
import { toExpressHandler } from "@calotype/express";
import { closeOnSignals } from "@calotype/node";
import { createTelemetry } from "@calotype/opentelemetry";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import express from "express";

// Without a server of its own, which would listen on port 9464.
const exporter = new PrometheusExporter({ preventServerStart: true });
const meter = new MeterProvider({ readers: [exporter] }).getMeter("calotype");

const { env } = process;
const emulator = env.ARK_API_KEY || env.ARK_BASE_URL ? undefined : await createEmulator().listen();
if (emulator)
  console.error("ARK_API_KEY is not set: emulated images, API key sk-local unless CALOTYPE_API_KEY is set.");

const gateway = createGateway({
  models: { "seedream-4-5-251128": { family: "seedream" } },
  channels: [
    {
      id: "ark",
      family: "seedream",
      apiKey: env.ARK_API_KEY || "none",
      baseUrl: emulator?.arkBaseUrl ?? (env.ARK_BASE_URL || undefined),
      modelMapping: { "seedream-4-5-251128": "doubao-seedream-4-5-251128" },
    },
  ],
  callers: [{ id: "default", key: env.CALOTYPE_API_KEY || (emulator ? "sk-local" : undefined) }],
  billing: { model_details: { "seedream-4-5-251128": { pricing_mode: "per-request", model_price: "0.25" } } },
  telemetry: createTelemetry({ meter }),
  onUsage: (record) => console.log(JSON.stringify(record)),
});

const app = express();
// For your Prometheus only: let your proxy refuse this path to clients.
app.get("/metrics", (request, response) => exporter.getMetricsRequestHandler(request, response));
app.use(toExpressHandler(gateway));

const server = app.listen(Number(env.PORT || 8787), (error) => {
  if (error) {
    console.error(error.message);
    process.exit(1);
  }
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  console.log(`calotype listens on http://localhost:${port}/v1`);
});

// On SIGTERM and Ctrl+C: requests in progress are finished and charged, then the process ends.
closeOnSignals(server, gateway, { onClosed: () => emulator?.close() });
