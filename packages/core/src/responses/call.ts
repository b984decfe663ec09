import type { Hold } from "../billing/hold.js";
import { GatewayError } from "../errors.js";
import type { Logger } from "../logger.js";
import type { ResolvedModel } from "../models/resolve-model.js";
import type { AfterImage } from "../results/after-image.js";
import type { Results } from "../results/results.js";
import type { AttemptRecord, ImageRequest } from "../types.js";
import type { DispatchParts } from "../upstream/dispatch.js";
import type { ByteCount } from "../util/held-bytes.js";
import type { ResponseContext } from "./envelope.js";
import type { BackgroundReads } from "./relay.js";

/** An admitted request of a client, until its response has ended. */
export interface Call {
  /** The request's id. */
  readonly id: string;
  readonly request: ImageRequest;
  readonly model: ResolvedModel;
  readonly hold: Hold;
  /** Adds the request's id to each line. */
  readonly logger: Logger;
  /** Keeps the host and the gateway from ending before the work is done. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  /** A response of up to this many bytes must be complete, because it is stored for a repeat of the request. */
  readonly keptBytes: number;
  /** Counts the bytes of the response while they are held. */
  readonly bytes: ByteCount;
  /** The caller's id. */
  readonly caller: string;
  /** Reports to the operator. */
  readonly report: CallReport;
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
 * @throws GatewayError if the gateway has closed and given the hold up
 */
export async function checkCharged({ ended }: Call["hold"]): Promise<void> {
  const end = await Promise.race([ended, Promise.resolve()]);
  if (end?.state === "unresolved") throw closedError();
}

/** The same code as for a single call, whose connection ends when the gateway closes. */
export function closedError(): GatewayError {
  const message = "The gateway closed before all images were made, so the outcome is unknown.";
  return new GatewayError("upstream_invalid_response", message, { shouldRetry: false });
}

/** What is reported to the operator while the response is made. */
interface CallReport {
  /** Sets the attempts of the request. The last one may still change until the call is settled. */
  setAttempts(attempts: readonly AttemptRecord[]): void;
  /** Reports a failure after the response began. */
  failed(error: GatewayError): void;
}

/** What the response to a call needs of the gateway. */
export interface CallParts extends DispatchParts {
  readonly logger: Logger;
  /** The largest upstream response that is accepted, in bytes. */
  readonly maxResponseBytes: number;
  /** The operator's function for each image. */
  readonly afterImage: AfterImage | undefined;
  /** After this time without data a comment is sent in a stream. `undefined`: no comments. */
  readonly heartbeatMs: number | undefined;
  readonly backgroundReads: BackgroundReads;
  /** Stores the images of responses. `undefined` without the option `results`. */
  readonly results: Results | undefined;
}
