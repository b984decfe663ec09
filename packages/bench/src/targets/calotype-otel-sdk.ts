// With telemetry and the SDK: all spans are recorded and given to an exporter in batches, which discards them.
import { toNodeHandler } from "@calotype/node";
import { createTelemetry } from "@calotype/opentelemetry";
import { context, metrics, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { ExportResultCode } from "@opentelemetry/core";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import { createCalotype } from "./create-calotype.ts";
import { serve } from "./serve.ts";
import { readTargetOptions } from "./target-options.ts";

const discard: SpanExporter = {
  export: (_spans, done) => done({ code: ExportResultCode.SUCCESS }),
  shutdown: async () => {},
};
const metricExporter = new InMemoryMetricExporter(AggregationTemporality.DELTA);
const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 10_000 });

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(
  new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter: discard })] }),
);
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));

serve(toNodeHandler(createCalotype(readTargetOptions(), { telemetry: createTelemetry() })));
