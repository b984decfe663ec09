import { type GatewayError, shownCodeOf } from "../errors.js";
import type { GatewayResponse } from "../exchange.js";
import type { SecretMask } from "../mask-secrets.js";

/** The error envelope of the interface. */
export interface ErrorEnvelope {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: string;
    readonly param: string | null;
    readonly upstream_request_id?: string | undefined;
  };
}

/** The only place where an error becomes an envelope. The provider's code stands in for ours where it gave one. */
export function toEnvelope(error: GatewayError, mask: SecretMask): ErrorEnvelope {
  return {
    error: {
      message: mask(error.message),
      type: error.type,
      code: shownCodeOf(error),
      param: error.param ?? null,
      upstream_request_id: error.upstreamRequestId,
    },
  };
}

/**
 * An error as an answer.
 *
 * @param native answer with the provider's own body where there is one, as `/api/v3` does
 */
export function renderError(
  error: GatewayError,
  context: { readonly id: string; readonly mask: SecretMask; readonly native?: boolean },
): GatewayResponse {
  const { id, mask, native = false } = context;
  const own = native ? error.upstreamBody : undefined;
  return {
    status: error.status,
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-request-id": id,
      ...(error.retryAfterSeconds !== undefined && { "retry-after": String(error.retryAfterSeconds) }),
      ...(error.shouldRetry === false && { "x-should-retry": "false" }),
      ...error.headers,
    },
    body: own ?? JSON.stringify(toEnvelope(error, mask)),
  };
}
