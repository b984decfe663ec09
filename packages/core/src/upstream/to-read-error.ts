import { GatewayError, isGatewayError } from "../errors.js";
import type { Logger } from "../logger.js";
import { readRequestId } from "./read-answer.js";
import { TransportError, type TransportResponse } from "./transport.js";
import { toUpstreamError } from "./upstream-error.js";

/** The error of an answer whose reading failed. Anything but a broken connection or a refusal of ours is a fault of a family. */
export function toReadError(
  cause: unknown,
  { logger }: { readonly logger: Logger },
  { id }: { readonly id: string },
  { response }: { readonly response: TransportResponse },
): GatewayError {
  if (isGatewayError(cause)) return cause;
  const upstreamRequestId = readRequestId(response);
  if (cause instanceof TransportError) {
    return toUpstreamError({ kind: cause.reason, cause, requestId: upstreamRequestId });
  }
  logger.error({ requestId: id, err: cause }, "A provider's answer could not be read.");
  return new GatewayError("internal_error", "The provider's answer could not be read.", {
    cause,
    upstreamRequestId,
    shouldRetry: false,
  });
}
