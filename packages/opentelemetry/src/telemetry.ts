import type { Telemetry } from "@calotype/core";
import { checkOptionNames } from "@calotype/core/adapter";
import {
  createNoopMeter,
  type Meter,
  metrics,
  ProxyTracerProvider,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { ObservedCall } from "./call.js";
import { createMetrics } from "./metrics.js";
import { SCOPE } from "./names.js";

/** Options of {@link createTelemetry}. */
export interface TelemetryOptions {
  /** Creates the spans. Default: a tracer of the global provider, which the SDK registers. */
  readonly tracer?: Tracer | undefined;
  /** Creates the instruments. Default: a meter of the global provider. */
  readonly meter?: Meter | undefined;
  /**
   * Whether requests to providers carry the trace context, such as `traceparent`. The providers then learn the ids of your
   * traces, and what your propagators add, such as baggage. Default `false`.
   */
  readonly forwardContext?: boolean | undefined;
  /**
   * Whether metrics have the caller's id as an attribute. Each caller then has its own series, so use it with some hundred
   * callers at most. Spans always have it. Default `false`.
   */
  readonly callerInMetrics?: boolean | undefined;
  /**
   * Whether the span of a call has the prompt, as `gen_ai.input.messages`: at most 16,384 characters. Prompts are the data of
   * your users; everyone who reads your traces then reads them. Logs, metrics and images are not affected. Default `false`.
   */
  readonly recordPrompts?: boolean | undefined;
}

/**
 * Creates the telemetry of a gateway, for its option `telemetry`: a span for each call with a child span for each attempt,
 * and metrics. It uses the OpenTelemetry API only. Without an SDK nothing is recorded. Images and keys are never recorded, and
 * prompts only with `recordPrompts`.
 *
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { createTelemetry } from "@calotype/opentelemetry";
 *
 * const gateway = createGateway({
 *   models: { "seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   callers: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 *   telemetry: createTelemetry(),
 * });
 * ```
 */
export function createTelemetry(options: TelemetryOptions = {}): Telemetry {
  checkOptionNames("createTelemetry", options, {
    tracer: true,
    meter: true,
    forwardContext: true,
    callerInMetrics: true,
    recordPrompts: true,
  });
  const { forwardContext = false, callerInMetrics = false, recordPrompts = false } = options;
  const tracer = options.tracer ?? trace.getTracer(SCOPE);
  const meter = options.meter ?? metrics.getMeter(SCOPE);
  // An SDK that is registered later gives no meter.
  const isMeasured = meter !== createNoopMeter();
  const isOn = (): boolean => isMeasured || options.tracer !== undefined || hasTracerProvider();
  const instruments = createMetrics(meter);
  const parts = { tracer, metrics: instruments, forwardContext, callerInMetrics, recordPrompts };
  return {
    callStarted(call) {
      if (!isOn()) return undefined;
      const observed = new ObservedCall(parts, call);
      // With a tracer that records nothing, the rest would record nothing.
      return isMeasured || observed.hasTrace ? observed : undefined;
    },
    watchChannels: (describe) => instruments.watchChannels(describe),
  };
}

/** What the API's own provider delegates to until an SDK is registered. */
const NO_PROVIDER = new ProxyTracerProvider().getDelegate();

/** Returns false while no SDK is registered. Then nothing is recorded, so a call need not be described. */
function hasTracerProvider(): boolean {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== NO_PROVIDER;
}
