import type { Answered } from "./dispatch.js";
import { GatewayError } from "./errors.js";
import type { GatewayResponse } from "./exchange.js";
import type { SentTo } from "./image-request.js";
import type { Job, JobParts } from "./job.js";
import { toEnvelope } from "./response/error-response.js";
import { type RelayEnd, relaySse } from "./response/relay-sse.js";
import { renderStream } from "./response/stream-response.js";
import { settleJob } from "./settle-job.js";
import { TransportError } from "./upstream/transport.js";
import { toUpstreamError } from "./upstream/upstream-error.js";

/**
 * Relays a provider's stream, and settles it by its events when it ends: also when the client left,
 * for the provider makes and bills the images either way.
 *
 * @throws GatewayError when the family knows no streams, so that nothing could be charged
 */
export function answerStream(parts: JobParts, job: Job, { response, sentTo }: Answered): GatewayResponse {
  const reader = job.model.family.readStream?.();
  if (reader === undefined) {
    response.cancel();
    throw settleUnreadable(parts, job, sentTo);
  }
  const settled = Promise.withResolvers<void>();
  job.keepAlive(settled.promise);
  const upstreamRequestId = response.headers.get("x-request-id") ?? undefined;
  const body = relaySse(response.body, {
    onEvent: (event) => reader.read(event),
    onEnd: (end) => {
      try {
        const { images, usage, failure } = reader.result();
        const errorCode = failure === undefined ? findErrorCode(end) : parts.mask(failure.code);
        settleJob(parts, job, sentTo, { status: 200, errorCode, images, usage, upstreamRequestId });
      } catch (error) {
        parts.logger.error({ requestId: job.id, err: error }, "A stream could not be settled.");
      } finally {
        settled.resolve();
      }
    },
    onAbandoned: (stream) => void parts.backgroundReads.start(stream),
    renderFailure: (error) =>
      `event: error\ndata: ${JSON.stringify(toEnvelope(toStreamError(error), parts.mask))}\n\n`,
    heartbeatMs: parts.heartbeatMs,
    cancel: response.cancel,
  });
  return renderStream(body, { id: job.id, ignored: job.request.ignored });
}

function settleUnreadable(parts: JobParts, job: Job, sentTo: SentTo): GatewayError {
  const message = "The provider answered with a stream, which this model does not offer.";
  const error = new GatewayError("upstream_invalid_response", message, { shouldRetry: false });
  const { status, code } = error;
  settleJob(parts, job, sentTo, { status, errorCode: code, images: 0 });
  return error;
}

function findErrorCode(end: RelayEnd): string | undefined {
  if (end.reason === "failed") return toStreamError(end.error).code;
  return end.reason === "abandoned" ? "client_closed_request" : undefined;
}

function toStreamError(cause: unknown): GatewayError {
  return toUpstreamError({ kind: cause instanceof TransportError ? cause.reason : "broken", cause });
}
