import type { FailureReason } from "./image-request.js";
import type { SecretMask } from "./mask-secrets.js";

/** Providers quote the key they refuse, also in answers of HTTP 200. */
export function maskReason<R extends FailureReason>(reason: R, mask: SecretMask): R {
  return { ...reason, code: mask(reason.code), message: mask(reason.message) };
}
