import type { GatewayError } from "../errors.js";
import type { GatewayResponse } from "../exchange.js";
import type { SecretMask } from "../mask-secrets.js";

/** The only place where an error becomes an answer. The provider's code stands in for ours where it gave one. */
export function renderError(error: GatewayError, requestId: string, mask: SecretMask): GatewayResponse {
  const body = {
    error: {
      message: mask(error.message),
      type: error.type,
      code: error.upstreamCode ?? (error.status === 400 ? "invalid_request_error" : error.code),
      param: error.param ?? null,
      ...(error.upstreamRequestId !== undefined && { upstream_request_id: error.upstreamRequestId }),
    },
  };
  return {
    status: error.status,
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-request-id": requestId,
      ...(error.retryAfterSeconds !== undefined && { "retry-after": String(error.retryAfterSeconds) }),
      ...(error.shouldRetry === false && { "x-should-retry": "false" }),
      ...error.headers,
    },
    body: JSON.stringify(body),
  };
}
