import type { GatewayRequest, GatewayResponse } from "../exchange.js";

/** Response headers that a web page may read without permission (Fetch standard, CORS-safelisted response-header name). */
const SAFELISTED: ReadonlySet<string> = new Set([
  "cache-control",
  "content-language",
  "content-length",
  "content-type",
  "expires",
  "last-modified",
  "pragma",
]);

/**
 * Adds a header that names the response headers which a web page of another origin may read. Without it, a client in
 * a browser does not see `x-should-retry: false`, and may repeat a request that has already made images.
 */
export function exposeHeaders(
  { headers }: Pick<GatewayRequest, "headers">,
  response: GatewayResponse,
): GatewayResponse {
  if (headers.get("origin") === null) return response;
  const names = Object.keys(response.headers).filter((name) => !SAFELISTED.has(name));
  if (names.length === 0) return response;
  return {
    ...response,
    headers: { ...response.headers, "access-control-expose-headers": names.join(", ") },
  };
}
