import type { AttemptDetail, AttemptObserver, StartedAttempt } from "@calotype/core/adapter";
import type { AttemptRecord } from "@calotype/core/billing";
import {
  type Attributes,
  type Context,
  context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { Metrics } from "./metrics.js";
import { ATTRIBUTES } from "./names.js";

/** What the observers share. */
export interface TelemetryParts {
  readonly tracer: Tracer;
  readonly metrics: Metrics;
  readonly forwardContext: boolean;
  readonly callerInMetrics: boolean;
  readonly recordPrompts: boolean;
}

/** A span keeps 128 events by default, and a job of 15 minutes can take hundreds of polls. */
const MAX_POLL_EVENTS = 32;

/** What an attempt has of its call. */
interface AttemptContext {
  /** The context with the span of the call. */
  readonly parent: Context;
  readonly provider: string;
  /** Attributes of metrics. */
  readonly model: Attributes;
}

/** Observes one attempt: its span and its metrics. */
export class ObservedAttempt implements AttemptObserver {
  readonly headers: AttemptObserver["headers"];
  readonly #parts: TelemetryParts;
  readonly #span: Span;
  readonly #context: Context;
  readonly #attributes: Attributes;
  #polls = 0;
  #pollWaitMs = 0;
  /** When the whole response had arrived. */
  #completedAt: Date | undefined;

  constructor(parts: TelemetryParts, attempt: StartedAttempt, { parent, provider, model }: AttemptContext) {
    const { channel, key, upstreamModel, host, call, isProbe, isContinued } = attempt;
    this.#parts = parts;
    this.#attributes = { ...model, [ATTRIBUTES.provider]: provider, [ATTRIBUTES.channel]: channel };
    this.#span = parts.tracer.startSpan(
      `attempt ${channel}`,
      {
        kind: SpanKind.CLIENT,
        attributes: {
          [ATTRIBUTES.channel]: channel,
          [ATTRIBUTES.channelKey]: key,
          [ATTRIBUTES.provider]: provider,
          [ATTRIBUTES.upstreamModel]: upstreamModel,
          [ATTRIBUTES.serverAddress]: host,
          [ATTRIBUTES.upstreamCall]: call,
          ...(isProbe && { [ATTRIBUTES.probe]: true }),
          ...(isContinued && { [ATTRIBUTES.continued]: true }),
        },
      },
      parent,
    );
    this.#context = trace.setSpan(parent, this.#span);
    if (!parts.forwardContext) return;
    const carrier: Record<string, string> = {};
    propagation.inject(this.#context, carrier);
    this.headers = carrier;
  }

  run<T>(send: () => T): T {
    return context.with(this.#context, send);
  }

  jobAccepted(id: string): void {
    this.#span.setAttribute(ATTRIBUTES.upstreamTask, id);
    this.#span.addEvent("calotype.task_accepted");
  }

  polled({ status, waitedMs }: { readonly status?: number | undefined; readonly waitedMs: number }): void {
    this.#polls += 1;
    this.#pollWaitMs += waitedMs;
    if (this.#polls > MAX_POLL_EVENTS) return;
    const known = status === undefined ? {} : { [ATTRIBUTES.statusCode]: status };
    this.#span.addEvent("calotype.polled", { ...known, [ATTRIBUTES.pollWait]: waitedMs / 1000 });
  }

  responded(record: AttemptRecord, detail: AttemptDetail): void {
    this.#describe(record, detail);
    if (detail.isComplete === true) this.#completedAt = new Date();
    else if (detail.kind === undefined) this.#span.addEvent("calotype.response_head");
    const { kind } = detail;
    const attributes =
      kind === undefined ? this.#attributes : { ...this.#attributes, [ATTRIBUTES.errorType]: kind };
    this.#parts.metrics.attemptEnded(record.durationMs, attributes, this.#context);
  }

  failed(record: AttemptRecord, detail: AttemptDetail): void {
    this.#completedAt = undefined;
    this.#describe(record, detail);
  }

  ended(): void {
    if (this.#polls > 0) {
      this.#span.setAttributes({
        [ATTRIBUTES.polls]: this.#polls,
        [ATTRIBUTES.pollWait]: this.#pollWaitMs / 1000,
      });
    }
    this.#span.end(this.#completedAt);
  }

  #describe({ status, code }: AttemptRecord, detail: AttemptDetail): void {
    const { kind, upstreamRequestId, cooldown } = detail;
    this.#span.setAttributes({
      [ATTRIBUTES.statusCode]: status,
      [ATTRIBUTES.upstreamRequestId]: upstreamRequestId,
      [ATTRIBUTES.errorType]: kind,
      [ATTRIBUTES.upstreamCode]: kind === undefined ? undefined : code,
    });
    if (kind !== undefined) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    if (cooldown === undefined) return;
    const { scope, until } = cooldown;
    if (until === undefined) {
      this.#span.addEvent("calotype.cooldown_ended", { [ATTRIBUTES.cooldownScope]: scope });
      return;
    }
    const end = new Date(until).toISOString();
    this.#span.addEvent("calotype.cooldown_began", {
      [ATTRIBUTES.cooldownScope]: scope,
      [ATTRIBUTES.cooldownUntil]: end,
    });
    const { channel, provider } = ATTRIBUTES;
    const { [channel]: id, [provider]: name } = this.#attributes;
    this.#parts.metrics.cooldownBegan(detail, { [channel]: id, [provider]: name }, this.#context);
  }
}
