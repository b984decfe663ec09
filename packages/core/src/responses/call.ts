import type { HoldEnd } from "../billing/hold.js";
import { GatewayError } from "../errors.js";
import type { Logger } from "../logger.js";
import type { AttemptRecord } from "../types.js";
import type { DispatchParts, DispatchRequest } from "../upstream/dispatch.js";
import type { ResponseContext } from "./envelope.js";
import type { DeliveredCall, ImageStage, RequireMarks } from "./image-stage.js";
import type { BackgroundReads } from "./relay.js";

/** A call that is sent, as its response is made. */
export interface Call extends DispatchRequest, DeliveredCall {
  /** Keeps the host and the gateway from ending before the work is done. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  /** A response of up to this many bytes must be complete, because it is stored for a repeat of the request. */
  readonly keptBytes: number;
  /** Reports to the operator. */
  readonly report: CallReport;
}

/** What the headers of the response to a call contain. */
export function toContext({ id, request: { ignored, replacedSize } }: Call): ResponseContext {
  return { id, ignored, replacedSize };
}

/**
 * Call before a complete response is sent or ended: it must be charged, and a call that the gateway has given up is not.
 *
 * @throws GatewayError if the gateway has closed and given the call up
 */
export function checkCharged(state: HoldEnd["state"]): void {
  if (state === "unresolved") throw cutOffError();
}

/** The client did not read the rest of its response. */
export function leftError(): GatewayError {
  return new GatewayError("client_closed_request", "The client left, and the rest was not read.");
}

/** The same code as for a single call, whose connection ends when the gateway closes. */
export function cutOffError(): GatewayError {
  const message = "The gateway closed before all images were made, so the outcome is unknown.";
  return new GatewayError("upstream_invalid_response", message, { shouldRetry: false });
}

/** What is reported to the operator while the response is made. */
export interface CallReport {
  /** Sets the attempts of the request. The last one may still change until the call is settled. */
  setAttempts(attempts: readonly AttemptRecord[]): void;
  /** Reports why there is no response, and returns the error to show. */
  refused(cause: unknown): GatewayError;
  /** Reports a failure after the response began. */
  failed(error: GatewayError): void;
}

/** What the response to a call needs of the gateway. */
export interface CallParts extends DispatchParts {
  readonly logger: Logger;
  /** The largest upstream response that is accepted, in bytes. */
  readonly maxResponseBytes: number;
  /**
   * JSON with base64 of links is held until all images have been downloaded, if they have at most this many bytes together.
   * If a download of a larger response breaks off, the response is cut off.
   */
  readonly maxHeldImageBytes: number;
  /** After this time without data a comment is sent in a stream. `undefined`: no comments. */
  readonly heartbeatMs: number | undefined;
  readonly backgroundReads: BackgroundReads;
  /** Stores the images of responses. `undefined`: they are sent as they are. */
  readonly images: ImageStage | undefined;
  /** Refuses images without a mark. `undefined`: images need none. */
  readonly requireMarks?: RequireMarks | undefined;
}
