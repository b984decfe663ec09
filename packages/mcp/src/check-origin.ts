import type { GatewayRequest, GatewayResponse } from "@calotype/core/adapter";
import { type Contribution, GatewayError } from "@calotype/core/compose";

/** The pages that may call the tools. */
export interface AllowedOrigins {
  /** The origin of the gateway. `undefined`: the scheme and the host of each request. */
  readonly app: string | undefined;
  /** The origins of `cors`. `"*"` allows none: it would allow every page to which a browser shows this server. */
  readonly cors: Contribution["cors"];
}

/**
 * Checks that no page of another site has sent a request, as the MCP specification requires against DNS rebinding (Streamable HTTP,
 * security warning). A request without `Origin` passes: no page has sent it, and it has a key.
 *
 * @throws GatewayError `cross_site_request`
 */
export function checkOrigin(request: GatewayRequest, { app, cors }: AllowedOrigins): void {
  const origin = request.headers.get("origin");
  if (origin === null || origin === (app ?? findOrigin(request))) return;
  // What `cors` names is what it allows the page to read.
  if (cors?.addHeaders(request, NO_RESPONSE).headers["access-control-allow-origin"] === origin) return;
  throw new GatewayError(
    "cross_site_request",
    `Pages of ${origin.slice(0, 256)} may not call this server. Its operator can allow them in cors.origins.`,
  );
}

const NO_RESPONSE: GatewayResponse = { status: 200, headers: {}, body: "" };

/** The origin at which the host has got the request. `undefined` without a valid header `Host`. */
function findOrigin({ url, headers, isEncrypted = false }: GatewayRequest): string | undefined {
  const absolute = URL.canParse(url) ? new URL(url) : undefined;
  const scheme = absolute?.protocol ?? (isEncrypted ? "https:" : "http:");
  const address = `${scheme}//${headers.get("host") ?? absolute?.host ?? ""}`;
  return URL.canParse(address) ? new URL(address).origin : undefined;
}
