// An Express app with an image-generation gateway whose metrics Prometheus reads at GET /metrics. `readOptions` takes the
// other options from the environment; in an app of yours, write them here.
import { createGateway } from "@calotype/core";
import { readOptions } from "@calotype/example-options";
import { emulateProviders } from "@calotype/example-options/emulate-providers";
import { toExpressHandler } from "@calotype/express";
import { closeOnSignals } from "@calotype/node";
import { createTelemetry } from "@calotype/opentelemetry";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import express from "express";

// Without a server of its own, which would listen on port 9464.
const exporter = new PrometheusExporter({ preventServerStart: true });
const meter = new MeterProvider({ readers: [exporter] }).getMeter("calotype");

const { env, close } = await emulateProviders(process.env);
const gateway = createGateway({ ...readOptions(env), telemetry: createTelemetry({ meter }) });

const app = express();
// For your Prometheus only: let your proxy refuse this path to clients.
app.get("/metrics", (request, response) => exporter.getMetricsRequestHandler(request, response));
app.use(toExpressHandler(gateway));

const server = app.listen(Number(env["PORT"] || 8787), (error) => {
  if (error) {
    console.error(error.message);
    process.exit(1);
  }
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  console.log(`calotype listens on http://localhost:${port}/v1`);
});

// On SIGTERM and Ctrl+C: requests in progress are finished and charged, then the process ends.
closeOnSignals(server, gateway, { onClosed: close });
