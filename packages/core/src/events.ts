import type { CallObservation, SafeCallObserver } from "./contract/observer.js";
import type { StartedCall } from "./contract/telemetry.js";
import { GatewayError, isGatewayError, shownCodeOf } from "./errors.js";
import type { GatewayRequest, GatewayResponse } from "./http.js";
import type { Logger } from "./logger.js";
import type { AttemptRecord, Caller, ImageRequest, Operation } from "./types.js";
import type { Writable } from "./util/writable.js";

/** The operator's own check of a valid request, before it is sent. */
export type BeforeSend = (request: ImageRequest, caller: Caller) => void | Promise<void>;

/** The request that an event is about. */
interface EventSubject {
  /** The request's id, which the client gets in `x-request-id`. */
  readonly id: string;
  /** When the request arrived, ISO 8601 in UTC. */
  readonly time: string;
  readonly operation: Operation;
  /** Absent if the request was refused before its caller was known. */
  readonly caller?: string | undefined;
  /** The service model. Absent if the request was refused before it was known. */
  readonly model?: string | undefined;
}

/** A request that got its response, or whose stream begins. */
export interface RequestEvent extends EventSubject {
  /** The status that the client gets. It is 200 for a stream that began by `heartbeatSeconds` and then failed. */
  readonly status: number;
  /** The `error.code` that the client gets, if the request failed. */
  readonly errorCode?: string | undefined;
  /** True if the response is a stream, which begins now. */
  readonly stream: boolean;
  /**
   * From the arrival of the request to its response, or to the beginning of the stream. Comments that were sent before
   * that by `heartbeatSeconds` are not the beginning.
   */
  readonly durationMs: number;
}

/** A request that failed. */
export interface FailureEvent extends EventSubject {
  /** The error that the client got. `cause` is what led to it. Keys are redacted in the message. */
  readonly error: GatewayError;
  /** The attempts in order. Absent if the request was refused before it was sent. */
  readonly attempts?: readonly AttemptRecord[] | undefined;
}

/** The operator's event functions. `undefined` if the operator gave none. They do not throw. */
export interface Events {
  readonly request: ((event: RequestEvent) => void) | undefined;
  readonly error: ((event: FailureEvent) => void) | undefined;
}

export interface EventOptions {
  readonly onRequest?: ((event: RequestEvent) => unknown) | undefined;
  readonly onError?: ((event: FailureEvent) => unknown) | undefined;
}

/** Wraps the operator's event functions: what they throw or reject with is logged. */
export function createEvents({ onRequest, onError }: EventOptions, logger: Logger): Events {
  return {
    request: onRequest && guard("onRequest", onRequest, logger),
    error: onError && guard("onError", onError, logger),
  };
}

function guard<E extends { readonly id: string }>(
  name: string,
  listener: (event: E) => unknown,
  logger: Logger,
): (event: E) => void {
  return (event) => {
    const notify = async (): Promise<void> => {
      try {
        await listener(event);
      } catch (error) {
        logger.error({ requestId: event.id, err: error }, `${name} failed.`);
      }
    };
    void notify();
  };
}

/** What is known of a request when it arrives. */
export interface Arrival {
  /** The request's id. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** The same as ISO 8601 in UTC. */
  readonly time: string;
  readonly operation: Operation;
}

/** Creates the arrival of a request that arrives now. */
export function createArrival(
  { createId, now }: { readonly createId: () => string; readonly now: () => number },
  operation: Operation,
): Arrival {
  const receivedAt = now();
  return { id: createId(), receivedAt, time: toTime(receivedAt), operation };
}

let latest = { ms: Number.NaN, time: "" };

/** Returns ISO 8601 in UTC. Many requests arrive in the same millisecond. */
function toTime(ms: number): string {
  if (latest.ms !== ms) latest = { ms, time: new Date(ms).toISOString() };
  return latest.time;
}

/** A request that got an error and has no usage record. */
export interface FailedRequest {
  /** The request's id. */
  readonly id: string;
  readonly error: GatewayError;
  readonly request: Pick<GatewayRequest, "method" | "url">;
  readonly caller?: string | undefined;
  readonly model?: string | undefined;
  /** Milliseconds since 1970. Absent for requests that make no images. */
  readonly receivedAt?: number | undefined;
}

/** What is told of requests that get an error and have no usage record. */
export interface RefusalParts {
  readonly logger: Logger;
  readonly refused: (failed: FailedRequest) => void;
}

/** What reports need of the gateway. */
export interface ReportParts extends RefusalParts {
  readonly events: Events;
  readonly now: () => number;
  /** `undefined` without telemetry. */
  readonly observation?: CallObservation | undefined;
}

/** Collects what becomes known of a request, and reports it to the operator. */
export class RequestReport {
  /** Observes the call. `undefined` without telemetry. */
  readonly observer: SafeCallObserver | undefined;
  readonly #parts: ReportParts;
  readonly #receivedAt: number;
  readonly #subject: Writable<EventSubject>;
  #attempts: readonly AttemptRecord[] | undefined;
  #errorCode: string | undefined;

  constructor(
    parts: ReportParts,
    { id, time, operation, receivedAt }: Arrival,
    observed: ObservedCall = REQUEST,
  ) {
    this.observer = parts.observation?.start({ id, operation, ...observed });
    this.#parts = parts;
    this.#receivedAt = receivedAt;
    this.#subject = { id, time, operation };
  }

  setCaller(caller: string): void {
    this.#subject.caller = caller;
    this.observer?.callerKnown(caller);
  }

  /** @param entry its key in `models` */
  setModel(model: string, entry: string): void {
    this.#subject.model = model;
    this.observer?.modelKnown({ name: model, entry });
  }

  /** Sets the attempts of the request. The last one may still change until the call is settled. */
  setAttempts(attempts: readonly AttemptRecord[]): void {
    this.#attempts = attempts;
  }

  /**
   * Reports why the request failed before its response began, and returns the error to respond with. Anything but a
   * {@link GatewayError} is a failure of the gateway, and is logged.
   *
   * @param request absent if the request has a usage record, or is a task
   */
  refused(cause: unknown, request?: FailedRequest["request"]): GatewayError {
    const { id, caller, model } = this.#subject;
    const error = toGatewayError(cause, this.#parts.logger, id);
    this.#errorCode = shownCodeOf(error);
    this.failed(error);
    if (request !== undefined) {
      this.#parts.refused({ id, error, request, caller, model, receivedAt: this.#receivedAt });
    }
    return error;
  }

  /** Reports a failure after the response began. */
  failed(error: GatewayError): void {
    this.observer?.failed(error, shownCodeOf(error));
    const attempts = this.#attempts?.map((attempt) => ({ ...attempt }));
    this.#parts.events.error?.({ ...this.#subject, error, ...(attempts && { attempts }) });
  }

  /** Reports the response. */
  responded({ status, headers }: GatewayResponse): void {
    const { events, now } = this.#parts;
    const stream = headers["content-type"]?.startsWith("text/event-stream") === true;
    this.observer?.responded({ status, stream });
    events.request?.({
      ...this.#subject,
      status,
      ...(this.#errorCode !== undefined && { errorCode: this.#errorCode }),
      stream,
      // The clock may be set back during the request.
      durationMs: Math.max(0, now() - this.#receivedAt),
    });
  }
}

/** What telemetry learns of a call at its beginning. */
type ObservedCall = Omit<StartedCall, "id" | "operation">;

const REQUEST: ObservedCall = { kind: "request" };

/** Creates the report of a call without a client, whose caller and model are known. */
export function createReport(
  parts: ReportParts,
  {
    caller,
    model,
    entry = model,
    ...arrival
  }: Arrival & { readonly caller: string; readonly model: string; readonly entry?: string | undefined },
  observed: ObservedCall,
): RequestReport {
  const report = new RequestReport(parts, arrival, observed);
  report.setCaller(caller);
  report.setModel(model, entry);
  return report;
}

/** Reports why a request that makes no images failed, and returns the error to respond with. */
export function reportRefusal(
  { logger, refused }: RefusalParts,
  cause: unknown,
  failed: Pick<FailedRequest, "id" | "request">,
): GatewayError {
  const error = toGatewayError(cause, logger, failed.id);
  refused({ ...failed, error });
  return error;
}

/** A function of the host failed, or is of no use. The message names the function: the client gets it, and the log has the cause. */
export class HostError extends Error {
  override readonly name = "HostError";
}

/** Returns the error to respond with. Anything but a {@link GatewayError} is a failure of the gateway, and is logged. */
export function toGatewayError(cause: unknown, logger: Logger, requestId: string): GatewayError {
  if (isGatewayError(cause)) return cause;
  logger.error({ requestId, err: cause }, "A request failed in the gateway or in a function of yours.");
  const message = cause instanceof HostError ? cause.message : "The gateway failed.";
  return new GatewayError("internal_error", message, { cause });
}

const ID_BYTES = 16;
/** Random bytes for the next ids: to ask for many at once takes less time. */
const pool = new Uint8Array(256 * ID_BYTES);
let used = pool.length;
const PREFIX = Array.from("req_", (character) => character.charCodeAt(0));
const toDigit = (value: number): number => value + (value < 10 ? 0x30 : 0x57);

/** Creates the id of a request: `req_` and 32 hexadecimal digits, with 128 random bits. */
export function createRequestId(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const codes = [...PREFIX];
  for (let count = 0; count < ID_BYTES; count++) {
    const byte = pool[used++] ?? 0;
    codes.push(toDigit(byte >> 4), toDigit(byte & 15));
  }
  // Takes a third of the time of `crypto.randomUUID` and slices, which make a tree of strings.
  return String.fromCharCode(...codes);
}
