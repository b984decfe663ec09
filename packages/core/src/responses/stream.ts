import type { Call, CallParts } from "../call.js";
import { GatewayError, shownCodeOf } from "../errors.js";
import type { AttemptFailure, StreamReader, StreamResult } from "../families/family.js";
import type { GatewayResponse } from "../http.js";
import { maskReason, type SecretMask } from "../redact.js";
import { isAnythingReported } from "../upstream/attempt.js";
import type { Answered } from "../upstream/dispatch.js";
import { findNoImageError, toUpstreamError } from "../upstream/failure.js";
import { readRequestId } from "../upstream/read.js";
import { TransportError } from "../upstream/transport.js";
import { isJsonObject } from "../util/json.js";
import { renderStream, toEnvelope } from "./envelope.js";
import { type LargeResponseReader, readLargeResponse, type SettledJob, settleRelayed } from "./large.js";
import { createStreamBodyReader, type RelayEnd, type RelayOptions, relayBody } from "./sse.js";

/**
 * Relays a provider's stream, and settles it by its events when it ends: also when the client left,
 * for the provider makes and bills the images either way.
 *
 * @throws GatewayError when the family knows no streams, so that nothing could be charged
 */
export async function answerStream(
  parts: CallParts,
  job: Call,
  answered: Answered,
): Promise<GatewayResponse> {
  const { response, sentTo, failedLate } = answered;
  const upstreamRequestId = readRequestId(response);
  const reader = openReader(parts, job);
  if (reader === undefined) {
    response.cancel();
    const error = unreadableError(upstreamRequestId);
    const { status } = error;
    await job.hold.settle(sentTo, { status, errorCode: shownCodeOf(error), images: 0, upstreamRequestId });
    throw error;
  }
  const { id, hold, report } = job;
  const { ignored } = job.request;
  const { family } = job.model;
  const shape = family.responseShape;
  /** Reads a body that is JSON in spite of its label. */
  let json: LargeResponseReader | undefined;
  let jsonError: unknown;
  const readJson = (chunk: Uint8Array): void => {
    if (shape === undefined) return;
    json ??= readLargeResponse(response, {
      shape: {
        ...shape,
        readFailure(member) {
          jsonError = member;
          return shape.readFailure(member);
        },
      },
      model: "",
      now: 0,
      isNative: true,
      maxBytes: Infinity,
      mask: parts.mask,
    });
    void json.pass(chunk);
  };
  const readRefusal = (): AttemptFailure | undefined => {
    try {
      return shape && family.toFailure(response.status, { [shape.failure]: jsonError });
    } catch (error) {
      reportReader(parts, id, error);
      return undefined;
    }
  };
  // From here on nothing of the request is held, as a stream may be open for long and many may be at once.
  let hasEvents = false;
  const options: RelayOptions = {
    onEvent: (event) => {
      hasEvents = true;
      reader.read(event);
    },
    isLast: () => reader.isOver === true || json?.isLast() === true,
    onEnd: (end) => {
      if (json !== undefined) {
        const isWhole = end.reason === "complete" && json.findFlaw(true) === undefined;
        const refusal = isWhole && isOnlyError(json) ? readRefusal() : undefined;
        if (refusal !== undefined) failedLate(refusal);
        return settleJson(parts, { id, hold, report }, answered, { json, end });
      }
      const result = readResult(reader, end, parts, id);
      const { images, usage, hasUnknownTokens, failure, isRead } = result;
      // One failure at most. What the provider says of it tells more than a connection that breaks after it.
      if (images === 0 && failure?.kind !== undefined) failedLate({ ...failure, kind: failure.kind });
      else if (end.reason === "failed") failedLate({ kind: kindOf(end.error), cause: end.error });
      const error = findError(end, result, { mask: parts.mask, upstreamRequestId });
      if (error !== undefined) report.failed(error);
      const errorCode = error && shownCodeOf(error);
      // A stream without any event does not report what was made, even if its connection was closed in order.
      const isConclusive = isRead && hasEvents && (end.reason === "complete" || failure !== undefined);
      return hold.settle(sentTo, {
        status: 200,
        errorCode,
        images,
        usage,
        hasUnknownTokens,
        isConclusive,
        upstreamRequestId,
      });
    },
    onAbandoned: (stream) => void parts.backgroundReads.start(stream),
    renderFailure: (error) => renderErrorEvent(toStreamError(error, upstreamRequestId), parts.mask),
    heartbeatMs: parts.heartbeatMs,
    cancel: () => response.cancel(),
  };
  const body = relayBody(response.body, options, (onEvent) =>
    createStreamBodyReader({ onEvent, onJson: readJson }),
  );
  return renderStream(body, { id, ignored });
}

/** True for a body of JSON that holds an error, and of which nothing was made. */
function isOnlyError({ facts }: LargeResponseReader): boolean {
  return facts.failure !== undefined && facts.images === 0 && !isAnythingReported(facts.usage);
}

/** Settles a body that is JSON in spite of its label, by the rules of a JSON response. */
function settleJson(
  parts: CallParts,
  job: SettledJob,
  answered: Answered,
  { json, end }: { readonly json: LargeResponseReader; readonly end: RelayEnd },
): Promise<void> | undefined {
  const flaw = end.reason === "complete" ? json.findFlaw(true) : undefined;
  return settleRelayed(parts, job, answered, {
    reader: json,
    end: flaw === undefined ? end : { reason: "failed", error: flaw },
  });
}

/** A reader of the family's, if it has one and that one opens. */
function openReader(parts: CallParts, job: Call): StreamReader | undefined {
  try {
    return job.model.family.readStream?.(job.request);
  } catch (error) {
    reportReader(parts, job.id, error);
    return undefined;
  }
}

interface ReadStream extends StreamResult {
  /** False if the family's reader failed, so that the result may be incomplete. */
  readonly isRead: boolean;
}

/** What the stream gave; a reader that throws must cost neither the stream nor its record. */
function readResult(reader: StreamReader, end: RelayEnd, parts: CallParts, id: string): ReadStream {
  if (end.readError !== undefined) reportReader(parts, id, end.readError);
  try {
    const result: unknown = reader.result();
    if (!isStreamResult(result)) throw new TypeError("A family's reader gave no result of its stream.");
    return { ...result, isRead: end.readError === undefined };
  } catch (error) {
    reportReader(parts, id, error);
    const failure = { code: "internal_error", message: "The stream could not be read." };
    return { images: 0, usage: undefined, failure, isRead: false };
  }
}

/** Families come from outside, too, and what they give decides what is charged. */
function isStreamResult(result: unknown): result is StreamResult {
  return isJsonObject(result) && typeof result["images"] === "number";
}

function reportReader(parts: CallParts, requestId: string, error: unknown): void {
  parts.logger.error({ requestId, err: error }, "The reader of a stream failed.");
}

function unreadableError(upstreamRequestId: string | undefined): GatewayError {
  const message = "The provider answered with a stream, which this model does not offer.";
  return new GatewayError("upstream_invalid_response", message, { upstreamRequestId, shouldRetry: false });
}

function renderErrorEvent(error: GatewayError, mask: SecretMask): string {
  return `event: error\ndata: ${JSON.stringify(toEnvelope(error, mask))}\n\n`;
}

/** The failure for the record and the operator. A stream that ended without an image is a failure too. */
function findError(
  end: RelayEnd,
  { images, failure, imageFailure }: StreamResult,
  { mask, upstreamRequestId }: ErrorContext,
): GatewayError | undefined {
  if (failure !== undefined) {
    const { code, message } = maskReason(failure, mask);
    return new GatewayError("upstream_error", message, { upstreamCode: code, upstreamRequestId });
  }
  switch (end.reason) {
    case "failed":
      return toStreamError(end.error, undefined);
    case "complete": {
      const reason = imageFailure && maskReason(imageFailure, mask);
      return findNoImageError(images, {
        failure: undefined,
        errors: reason ? [reason] : [],
        upstreamRequestId,
      });
    }
    case "abandoned":
      return new GatewayError(
        "client_closed_request",
        "The client left, and the rest of the stream was not read.",
      );
  }
}

interface ErrorContext {
  readonly mask: SecretMask;
  readonly upstreamRequestId: string | undefined;
}

function toStreamError(cause: unknown, requestId: string | undefined): GatewayError {
  return toUpstreamError({ kind: kindOf(cause), cause, requestId });
}

function kindOf(cause: unknown): TransportError["reason"] {
  return cause instanceof TransportError ? cause.reason : "broken";
}
