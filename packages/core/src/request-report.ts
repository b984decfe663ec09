import { GatewayError, isGatewayError, shownCodeOf } from "./errors.js";
import type { Events } from "./events.js";
import type { GatewayResponse } from "./exchange.js";
import type { EventSubject } from "./hooks.js";
import type { AttemptRecord, Operation } from "./image-request.js";
import type { Logger } from "./logger.js";
import type { SecretMask } from "./mask-secrets.js";
import { renderError } from "./response/error-response.js";

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
