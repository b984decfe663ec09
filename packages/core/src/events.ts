import { GatewayError, isGatewayError, shownCodeOf } from "./errors.js";
import type { GatewayResponse } from "./http.js";
import type { Logger } from "./logger.js";
import type { SecretMask } from "./redact.js";
import { renderError } from "./responses/envelope.js";
import type { AttemptRecord, Caller, ImageRequest, Operation } from "./types.js";
import { isPromiseLike } from "./util/promise-like.js";

/** The operator's own check of a request that was understood and is about to be sent. */
export type BeforeSend = (request: ImageRequest, caller: Caller) => void | Promise<void>;

/** Which request an event is about. */
interface EventSubject {
  /** The request's id, as the client sees it in `x-request-id`. */
  readonly id: string;
  /** When it came in, ISO 8601 in UTC. */
  readonly time: string;
  readonly operation: Operation;
  /** Absent for a request that was refused before its caller was known. */
  readonly caller?: string | undefined;
  /** The service model. Absent for a request that was refused before it was known. */
  readonly model?: string | undefined;
}

/** One request, as it is answered. */
export interface RequestEvent extends EventSubject {
  readonly status: number;
  /** The `error.code` that the client sees, when the request failed. */
  readonly errorCode?: string | undefined;
  /** True when the answer is a stream, which begins now. */
  readonly stream: boolean;
  /** From the request's arrival to its answer, or to the beginning of the stream. */
  readonly durationMs: number;
}

/** One request that failed. */
export interface FailureEvent extends EventSubject {
  /** What the client was told, and why: `cause` holds what lay behind it. No key stands in its message. */
  readonly error: GatewayError;
  /** The attempts in order. Absent if the request was refused before it was sent. */
  readonly attempts?: readonly AttemptRecord[] | undefined;
}

/** The operator's functions for what happened; absent where there are none. However they fail, no request breaks. */
export interface Events {
  readonly request: ((event: RequestEvent) => void) | undefined;
  readonly error: ((event: FailureEvent) => void) | undefined;
}

/** Calls the operator's functions where there are any, and logs how they fail. */
export function createEvents({ onRequest, onError }: EventOptions, logger: Logger): Events {
  return {
    request: guard("onRequest", onRequest, logger),
    error: guard("onError", onError, logger),
  };
}

interface EventOptions {
  readonly onRequest?: ((event: RequestEvent) => unknown) | undefined;
  readonly onError?: ((event: FailureEvent) => unknown) | undefined;
}

function guard<E extends { readonly id: string }>(
  name: string,
  hook: ((event: E) => unknown) | undefined,
  logger: Logger,
): ((event: E) => void) | undefined {
  if (hook === undefined) return undefined;
  return (event) => {
    const fail = (error: unknown): void =>
      logger.error({ requestId: event.id, err: error }, `${name} failed.`);
    try {
      const result = hook(event);
      if (isPromiseLike(result)) result.then(undefined, fail);
    } catch (error) {
      fail(error);
    }
  };
}

/** One request, when it came in. */
export interface Arrival {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** The same as ISO 8601 in UTC. */
  readonly time: string;
  readonly operation: Operation;
}

/** A request that comes in now. */
export function createArrival(
  { createId, now }: { readonly createId: () => string; readonly now: () => number },
  operation: Operation,
): Arrival {
  const receivedAt = now();
  return { id: createId(), receivedAt, time: toInstant(receivedAt), operation };
}

let latest = { ms: 0, text: new Date(0).toISOString() };

/** Many requests come in within one millisecond, and to write a time takes longer than to look it up. */
function toInstant(ms: number): string {
  if (latest.ms !== ms) latest = { ms, text: new Date(ms).toISOString() };
  return latest.text;
}

/** What is learned of a request on its way, for the operator's events. */
export interface RequestReport {
  isFrom(caller: string): void;
  isFor(model: string): void;
  /** The attempts of the request. The last one may still change until the request is settled. */
  tried(attempts: readonly AttemptRecord[]): void;
  /** Tells of a failure and gives the answer to it. Anything but a {@link GatewayError} is a failure of ours. */
  fail(error: unknown): GatewayResponse;
  /** Tells of a failure after the answer began. */
  failed(error: GatewayError): void;
  /** Tells of the answer. */
  answered(response: GatewayResponse): void;
}

/** What reports need of the gateway. */
export interface ReportParts {
  readonly events: Events;
  readonly logger: Logger;
  /** Takes our keys out of what the gateway says itself. */
  readonly maskKeys: SecretMask;
  readonly now: () => number;
}

/** The report of a request that came in. */
export function createRequestReport(parts: ReportParts, arrival: Arrival): RequestReport {
  return new Report(parts, arrival);
}

/** A class, as it is held as long as a stream is open, and thousands may be. */
class Report implements RequestReport {
  readonly #parts: ReportParts;
  readonly #arrival: Arrival;
  #caller: string | undefined;
  #model: string | undefined;
  #attempts: readonly AttemptRecord[] | undefined;
  #errorCode: string | undefined;

  constructor(parts: ReportParts, arrival: Arrival) {
    this.#parts = parts;
    this.#arrival = arrival;
  }

  isFrom(caller: string): void {
    this.#caller = caller;
  }

  isFor(model: string): void {
    this.#model = model;
  }

  tried(attempts: readonly AttemptRecord[]): void {
    this.#attempts = attempts;
  }

  fail(cause: unknown): GatewayResponse {
    const { id, operation } = this.#arrival;
    const { logger, maskKeys } = this.#parts;
    const error = isGatewayError(cause) ? cause : toInternalError(cause, id, logger);
    this.#errorCode = shownCodeOf(error);
    this.failed(error);
    return renderError(error, { id, mask: maskKeys, native: operation === "native" });
  }

  failed(error: GatewayError): void {
    const attempts = this.#attempts?.map((attempt) => ({ ...attempt }));
    this.#parts.events.error?.({ ...this.#subject(), error, ...(attempts && { attempts }) });
  }

  answered({ status, headers }: GatewayResponse): void {
    this.#parts.events.request?.({
      ...this.#subject(),
      status,
      ...(this.#errorCode !== undefined && { errorCode: this.#errorCode }),
      stream: headers["content-type"]?.startsWith("text/event-stream") === true,
      // A clock may be set back.
      durationMs: Math.max(0, this.#parts.now() - this.#arrival.receivedAt),
    });
  }

  #subject(): EventSubject {
    const { id, time, operation } = this.#arrival;
    return {
      id,
      time,
      operation,
      ...(this.#caller !== undefined && { caller: this.#caller }),
      ...(this.#model !== undefined && { model: this.#model }),
    };
  }
}

function toInternalError(cause: unknown, requestId: string, logger: Logger): GatewayError {
  logger.error({ requestId, err: cause }, "A request failed in the gateway or in a function of yours.");
  return new GatewayError("internal_error", "The gateway failed.", { cause });
}
