import type { GatewayResponse, GatewayResponseBody } from "../http.js";
import type { StoredResponse } from "./store.js";

const ORIGINAL_ID = "x-calotype-original-request-id";

/** What is true of one exchange only. */
const NOT_KEPT = /^(?:x-request-id|retry-after(?:-ms)?|(?:x-)?ratelimit.*|content-length|set-cookie|date)$/;

/**
 * An answer as it is kept for a repeat; `undefined` for a stream, for what is not JSON, and for a body of more
 * than `maxBytes` of UTF-8.
 */
export function toStoredResponse(response: GatewayResponse, maxBytes: number): StoredResponse | undefined {
  const { status, headers } = response;
  if (!headers["content-type"]?.startsWith("application/json")) return undefined;
  const body = toText(response.body, maxBytes);
  if (body === undefined) return undefined;
  const kept = Object.entries(headers).filter(([name]) => !NOT_KEPT.test(name));
  const id = headers["x-request-id"];
  return {
    status,
    headers: { ...Object.fromEntries(kept), ...(id !== undefined && { [ORIGINAL_ID]: id }) },
    body,
  };
}

/** The answer to a repeat. Its own id is this request's; the first one's is named beside it. */
export function renderReplay({ status, headers, body }: StoredResponse, requestId: string): GatewayResponse {
  return {
    status,
    headers: { ...headers, "x-request-id": requestId, "idempotent-replayed": "true" },
    body,
  };
}

function toText(body: GatewayResponseBody, maxBytes: number): string | undefined {
  if (typeof body === "string") {
    // No character takes less than a byte: of a body of megabytes the length is enough.
    const isSmall = body.length <= maxBytes && new TextEncoder().encode(body).length <= maxBytes;
    return isSmall ? body : undefined;
  }
  if (!(body instanceof Uint8Array) || body.length > maxBytes) return undefined;
  return new TextDecoder().decode(body);
}
