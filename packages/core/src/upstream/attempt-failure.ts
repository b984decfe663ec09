import type { AttemptFailure } from "../families/family.js";
import type { SecretMask } from "../redact.js";
import { toPlainError } from "../redact.js";

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
