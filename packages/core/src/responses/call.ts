import type { HoldEnd } from "../billing/hold.js";
import { GatewayError } from "../errors.js";
import type { Logger } from "../logger.js";
import type { AfterImage } from "../results/after-image.js";
import type { Results } from "../results/results.js";
import type { AttemptRecord, ResultImage } from "../types.js";
import type { DispatchParts, DispatchRequest } from "../upstream/dispatch.js";
import type { ByteCount } from "../util/held-bytes.js";
import type { ResponseContext } from "./envelope.js";
import type { BackgroundReads } from "./relay.js";

/** A call that is sent, as its response is made. */
export interface Call extends DispatchRequest {
  /** What the usage record says of the call. */
  readonly billed: { readonly caller: string };
  /** Keeps the host and the gateway from ending before the work is done. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  /** A response of up to this many bytes must be complete, because it is stored for a repeat of the request. */
  readonly keptBytes: number;
  /** Counts the bytes of the response while they are held. */
  readonly bytes: ByteCount;
  /** Reports to the operator. */
  readonly report: CallReport;
  /** Learns of images with a link before the response is complete, in the order in which they are delivered. */
  readonly onImage?: ((image: ResultImage) => void) | undefined;
  /** One of several calls of a request: the index of its first image among the images that all calls can make. Default 0. */
  readonly firstImageIndex?: number | undefined;
  /** For `Results.store`: the URL of the gateway before `/v1/…`. Empty without `results`, and if the store makes the links. */
  readonly linkBase: string;
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
  /** The operator's function for each image. */
  readonly afterImage: AfterImage | undefined;
  /** After this time without data a comment is sent in a stream. `undefined`: no comments. */
  readonly heartbeatMs: number | undefined;
  readonly backgroundReads: BackgroundReads;
  /** Stores the images of responses. `undefined` without the option `results`. */
  readonly results: Results | undefined;
}
