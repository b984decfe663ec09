import type { Commit } from "../billing/commit.js";
import type { Outcome } from "../billing/outcome.js";
import { GatewayError, shownCodeOf } from "../errors.js";
import type { UpstreamSuccess } from "../upstream/dispatch.js";
import { DownloadError } from "../upstream/download.js";
import { contentCodingError, toReadError } from "../upstream/read.js";
import { reasonOf } from "../upstream/transport.js";
import { checkCharged, leftError } from "./call.js";
import type { OnlyReading, Reading } from "./json-reading.js";
import type { RelayEnding } from "./relay.js";

/**
 * Settles a response that was sent in part. If it broke off, what the provider reported of it is charged. A client can
 * use none of the images in JSON that broke off, but each event that is complete.
 */
export function settleRelayed(
  reading: OnlyReading,
  end: RelayEnding,
  error: GatewayError | undefined,
): Promise<void> {
  const { call, reader, events } = reading;
  const { facts } = reader;
  if (error !== undefined) call.report.failed(error);
  // The download of an image broke off: it was made.
  const isMade = end.reason === "failed" && end.error instanceof DownloadError;
  const usable = events === undefined && !isMade ? 0 : facts.made.length;
  const images = end.reason === "failed" ? usable : facts.images;
  return settle(reading, {
    status: 200,
    error,
    images,
    // The rest is missing, so the usage at its end is not known.
    usage: end.reason === "complete" || images === 0 ? undefined : { generated_images: images },
    isConclusive: end.reason === "complete",
  });
}

/** The error of a response that was sent in part. */
export function findRelayError(reading: OnlyReading, end: RelayEnding): GatewayError | undefined {
  switch (end.reason) {
    case "complete":
      return reading.findRefusal();
    case "failed":
      return end.error instanceof DownloadError ? toDownloadFailure(end.error) : toError(reading, end.error);
    case "abandoned":
      return leftError();
  }
}

/**
 * Settles a response that cannot be sent to the client, and returns the error to respond with. Nothing is charged for
 * incomplete JSON, even if its usage has arrived.
 */
export async function fail(reading: OnlyReading, flaw: unknown): Promise<GatewayError> {
  reading.success.response.cancel();
  const error = toError(reading, flaw);
  await settle(reading, { status: error.status, error, images: 0, isIncomplete: true, isConclusive: false });
  return error;
}

/**
 * Converts what went wrong into the error for the client, and reports it to the channel's health. A channel is not to
 * blame for a response that says why it has no image, or that is larger than the gateway accepts.
 */
export function toError({ call, success, reader }: Reading, flaw: unknown): GatewayError {
  const error = toReadError(flaw, success.response, call.logger);
  if (error.code !== "upstream_no_image" && !reader.isTooLarge) {
    success.fail({ kind: reasonOf(flaw), cause: flaw });
  }
  return error;
}

/** The body is compressed although the gateway did not ask for that. */
export async function refuseCoding(
  commit: Commit,
  success: UpstreamSuccess,
  coding: string,
): Promise<GatewayError> {
  const { response, sentTo } = success;
  response.cancel();
  const error = contentCodingError(coding, response);
  success.fail({ kind: "broken", cause: error });
  const { status, upstreamRequestId } = error;
  const errorCode = shownCodeOf(error);
  await commit.run(sentTo, { status, errorCode, images: 0, upstreamRequestId, isUnknown: true });
  return error;
}

/** How the only call of a request ended. */
export interface Ended {
  readonly status: number;
  readonly error: GatewayError | undefined;
  /** The images that the client gets. */
  readonly images: number;
  /** The usage if the provider reported none. */
  readonly usage?: { readonly generated_images: number } | undefined;
  /** True if the usage that the provider reported does not count. */
  readonly isIncomplete?: boolean;
  readonly isConclusive: boolean;
}

/**
 * Charges the call.
 *
 * @throws GatewayError if the response succeeded, and the gateway has closed and given the call up
 */
export function settle(reading: OnlyReading, ended: Ended): Promise<void> {
  const { commit, success, reader, requestId } = reading;
  const { status, error, images, usage, isIncomplete = false, isConclusive } = ended;
  const outcome: Outcome = {
    status,
    errorCode: error && shownCodeOf(error),
    images,
    made: reader.facts.made,
    usage: isIncomplete ? undefined : (reader.facts.usage ?? usage),
    isConclusive,
    upstreamRequestId: requestId,
  };
  return commit
    .run(success.sentTo, outcome)
    .then(({ state }) => (error === undefined ? checkCharged(state) : undefined));
}

/** The image was made and its download broke off. */
export function toDownloadFailure(cause: unknown): GatewayError {
  const message = cause instanceof DownloadError ? cause.message : "The image could not be sent.";
  return new GatewayError("upstream_invalid_response", message, { cause, shouldRetry: false });
}
