import type { GatewayError, SettledRecord } from "@calotype/core";
import type {
  AttemptObserver,
  CallObserver,
  HoldEndReport,
  ObservedResponse,
  SkippedRoute,
  StartedAttempt,
  StartedCall,
} from "@calotype/core/adapter";
import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  trace,
} from "@opentelemetry/api";
import { ObservedAttempt, type TelemetryParts } from "./attempt.js";
import { readTokens } from "./metrics.js";
import { ATTRIBUTES, OPERATION, providerOf } from "./names.js";

/** The codes of errors with which a limit refuses a request. Functions of the operator may throw them too, without a limit. */
const LIMITS: ReadonlySet<string> = new Set([
  "rate_limit_exceeded",
  "insufficient_quota",
  "overloaded",
  "task_queue_full",
]);

/** In characters. A prompt can have a megabyte, and exporters refuse batches that are too large. */
const MAX_PROMPT_LENGTH = 16_384;

/** Observes one call: its span, and its metrics when it has ended. */
export class ObservedCall implements CallObserver {
  readonly logFields: CallObserver["logFields"];
  readonly link: CallObserver["link"];
  /** False without an SDK. */
  readonly hasTrace: boolean;
  readonly #parts: TelemetryParts;
  readonly #span: Span;
  /** The context of the attempts. */
  readonly #context: Context;
  readonly #beganAt = performance.now();
  #kind: string;
  #caller: string | undefined;
  #entry: string | undefined;
  /** The providers by channel. */
  readonly #providers = new Map<string, string>();
  #isHeld = false;
  #firstImageMs: number | undefined;
  #errorType: string | undefined;
  #record: SettledRecord | undefined;

  constructor(parts: TelemetryParts, call: StartedCall) {
    this.#parts = parts;
    this.#kind = call.kind;
    const { parent, isLocal } = findParent(call);
    const submission = call.link === undefined ? undefined : readLink(call.link);
    this.#span = parts.tracer.startSpan(
      OPERATION,
      {
        kind: call.kind === "request" && !isLocal ? SpanKind.SERVER : SpanKind.INTERNAL,
        attributes: {
          [ATTRIBUTES.operationName]: OPERATION,
          [ATTRIBUTES.outputType]: "image",
          [ATTRIBUTES.requestId]: call.id,
          [ATTRIBUTES.endpoint]: call.operation,
          [ATTRIBUTES.callKind]: call.kind,
          [ATTRIBUTES.task]: call.task,
        },
        ...(submission !== undefined && { links: [{ context: submission }] }),
      },
      parent,
    );
    this.#context = trace.setSpan(parent, this.#span);
    const own = this.#span.spanContext();
    this.hasTrace = isSpanContextValid(own);
    if (!this.hasTrace) return;
    this.logFields = { trace_id: own.traceId, span_id: own.spanId };
    this.link = writeLink(own);
  }

  callerKnown(caller: string): void {
    this.#caller = caller;
    this.#span.setAttribute(ATTRIBUTES.caller, caller);
    this.#span.addEvent("calotype.caller_known");
  }

  modelKnown({ name, entry }: { readonly name: string; readonly entry: string }): void {
    this.#entry = entry;
    this.#span.updateName(`${OPERATION} ${entry}`);
    this.#span.setAttributes({ [ATTRIBUTES.requestModel]: name, [ATTRIBUTES.modelEntry]: entry });
    this.#span.addEvent("calotype.request_read");
  }

  promptKnown(prompt: string): void {
    if (!this.#parts.recordPrompts) return;
    const content = prompt.slice(0, MAX_PROMPT_LENGTH);
    const messages = [{ role: "user", parts: [{ type: "text", content }] }];
    this.#span.setAttribute(ATTRIBUTES.inputMessages, JSON.stringify(messages));
  }

  held(amount: string | null): void {
    this.#isHeld = true;
    const attributes = amount === null ? {} : { [ATTRIBUTES.holdAmount]: amount };
    this.#span.addEvent("calotype.held", attributes);
    this.#span.setAttributes(attributes);
    this.#parts.metrics.holdsChanged(1, this.#modelAttributes(), this.#context);
  }

  submitted(task: string): void {
    this.#kind = "submission";
    this.#span.setAttributes({ [ATTRIBUTES.task]: task, [ATTRIBUTES.callKind]: this.#kind });
  }

  routeSkipped({ channel, key, scope, reason, until, isProbed }: SkippedRoute): void {
    this.#span.addEvent("calotype.channel_skipped", {
      [ATTRIBUTES.channel]: channel,
      [ATTRIBUTES.channelKey]: key,
      [ATTRIBUTES.channelState]: findState(reason, isProbed),
      [ATTRIBUTES.cooldownScope]: scope,
      [ATTRIBUTES.cooldownReason]: reason,
      [ATTRIBUTES.cooldownUntil]: new Date(until).toISOString(),
    });
  }

  attemptStarted(attempt: StartedAttempt): AttemptObserver {
    const provider = providerOf(attempt);
    this.#providers.set(attempt.channel, provider);
    return new ObservedAttempt(this.#parts, attempt, {
      parent: this.#context,
      provider,
      model: this.#modelAttributes(),
    });
  }

  firstImage(): void {
    this.#firstImageMs = performance.now() - this.#beganAt;
    this.#span.addEvent("calotype.first_image");
  }

  failed({ code, status, limit }: GatewayError, shownCode: string): void {
    this.#errorType = code;
    this.#span.setAttributes({
      [ATTRIBUTES.errorType]: code,
      [ATTRIBUTES.errorCode]: shownCode,
      [ATTRIBUTES.limit]: limit,
    });
    // Without the message, in which a provider may quote the prompt.
    if (status >= 500) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    if (!LIMITS.has(code)) return;
    const refused = { ...this.#attributes(), ...(limit !== undefined && { [ATTRIBUTES.limit]: limit }) };
    this.#parts.metrics.refusedByLimit(refused, this.#context);
  }

  clientLeft(): void {
    this.#span.setAttribute(ATTRIBUTES.clientLeft, true);
    this.#span.addEvent("calotype.client_disconnected");
  }

  responded({ status, stream }: ObservedResponse): void {
    this.#span.addEvent("calotype.response");
    this.#span.setAttributes({ [ATTRIBUTES.statusCode]: status, [ATTRIBUTES.stream]: stream });
  }

  holdEnded({ state, record }: HoldEndReport): void {
    this.#record = record;
    const { metrics } = this.#parts;
    if (this.#isHeld) metrics.holdsChanged(-1, this.#modelAttributes(), this.#context);
    metrics.holdEnded({ ...this.#modelAttributes(), [ATTRIBUTES.holdState]: state }, this.#context);
    this.#span.addEvent("calotype.hold_ended", { [ATTRIBUTES.holdState]: state });
    this.#span.setAttribute(ATTRIBUTES.holdState, state);
    if (record !== undefined) this.#span.setAttributes(this.#describe(record));
  }

  ended(): void {
    const durationMs = performance.now() - this.#beganAt;
    const ended = { durationMs, firstImageMs: this.#firstImageMs, record: this.#record };
    this.#parts.metrics.callEnded(ended, this.#attributes(), this.#context);
    this.#span.end();
  }

  #describe(record: SettledRecord): Attributes {
    const { input, output } = readTokens(record);
    const { channel, upstreamModel, upstreamRequestId, images, charge, cost } = record;
    return {
      [ATTRIBUTES.provider]: this.#providers.get(channel),
      [ATTRIBUTES.channel]: channel || undefined,
      [ATTRIBUTES.responseModel]: upstreamModel || undefined,
      [ATTRIBUTES.responseId]: upstreamRequestId,
      [ATTRIBUTES.inputTokens]: input,
      [ATTRIBUTES.outputTokens]: output,
      [ATTRIBUTES.images]: images,
      [ATTRIBUTES.charge]: charge ?? undefined,
      [ATTRIBUTES.cost]: cost,
    };
  }

  /** Attributes of metrics: the operation, the kind, and the configured name of the model. */
  #modelAttributes(): Attributes {
    return {
      [ATTRIBUTES.operationName]: OPERATION,
      [ATTRIBUTES.callKind]: this.#kind,
      ...(this.#entry !== undefined && { [ATTRIBUTES.requestModel]: this.#entry }),
      ...(this.#parts.callerInMetrics && this.#caller !== undefined && { [ATTRIBUTES.caller]: this.#caller }),
    };
  }

  /** The same with the channel and the failure. */
  #attributes(): Attributes {
    const channel = this.#record?.channel;
    const provider = channel === undefined ? undefined : this.#providers.get(channel);
    return {
      ...this.#modelAttributes(),
      ...(provider !== undefined && { [ATTRIBUTES.provider]: provider, [ATTRIBUTES.channel]: channel }),
      ...(this.#errorType !== undefined && { [ATTRIBUTES.errorType]: this.#errorType }),
    };
  }
}

/** The active span of the host, such as that of Express, else what the request's headers name. */
function findParent({ kind, headers }: StartedCall): { readonly parent: Context; readonly isLocal: boolean } {
  // The work in the background is not a part of the request in which it happens to begin.
  if (kind !== "request") return { parent: trace.deleteSpan(context.active()), isLocal: false };
  const active = context.active();
  const span = trace.getSpanContext(active);
  if (span !== undefined && isSpanContextValid(span)) return { parent: active, isLocal: true };
  const parent = headers === undefined ? active : propagation.extract(active, headers, HEADERS);
  return { parent: parent ?? ROOT_CONTEXT, isLocal: false };
}

const HEADERS: TextMapGetter<NonNullable<StartedCall["headers"]>> = {
  get: (headers, name) => headers.get(name) ?? undefined,
  // The readers of hosts cannot list names. Propagators that read headers by a prefix find none.
  keys: () => [],
};

/** In the format of `traceparent`. */
function writeLink({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

function readLink(link: string): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = ""] =
    /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/.exec(link) ?? [];
  const read: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(read) ? read : undefined;
}

/** The state of a channel that was skipped. */
function findState(reason: string, isProbed: boolean): string {
  if (reason === "paused") return "paused";
  return isProbed ? "probing" : "cooling";
}
