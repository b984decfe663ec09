import type { SecretMask } from "../mask-secrets.js";
import { toPlainError } from "../plain-error.js";
import type { UpstreamFailure, UpstreamFailureKind } from "../upstream-failure.js";
import type { TransportError } from "./transport.js";

/** Why one attempt failed: the provider's refusal, or what became of the connection. */
export interface AttemptFailure extends Omit<UpstreamFailure, "kind"> {
  readonly kind: UpstreamFailureKind | TransportError["reason"];
  /** The HTTP status, when the provider answered. */
  readonly status?: number | undefined;
  /** Seconds, from the provider's `retry-after`. */
  readonly retryAfterSeconds?: number | undefined;
  /** The provider's error body as it came, when it is JSON. */
  readonly body?: string | undefined;
  readonly cause?: unknown;
}

/** The maximum length of a provider's message in responses, events and logs. */
const MAX_MESSAGE_LENGTH = 1_000;

/**
 * Masks keys in a provider's message, because some providers quote the key that they refuse. Then shortens the
 * message. Shortening first could cut a key in two.
 */
export function maskFailure(failure: AttemptFailure, mask: SecretMask): AttemptFailure {
  const { code, message, param, requestId, body, cause } = failure;
  return {
    ...failure,
    code: code && mask(code),
    message: message && mask(message).slice(0, MAX_MESSAGE_LENGTH).toWellFormed(),
    param: param && mask(param),
    requestId: requestId && mask(requestId),
    body: body && mask(body),
    // An operator's own `fetch` may quote what it was given.
    cause: cause === undefined ? undefined : toPlainError(cause, mask),
  };
}
