import { findOrigin, type GatewayRequest } from "@calotype/core/adapter";
import { GatewayError } from "@calotype/core/compose";

/** The pages that may call the tools. */
export interface AllowedOrigins {
  /** The origin of the gateway. `undefined`: the scheme and the host of each request. */
  readonly app: string | undefined;
  /** The origins of `cors`. `"*"` allows none: it would allow every page to which a browser shows this server. */
  readonly others: ReadonlySet<string> | undefined;
}

/**
 * Checks that no page of another site has sent a request, as the MCP specification requires against DNS rebinding (Streamable HTTP,
 * security warning). A request without `Origin` passes: no page has sent it, and it has a key.
 *
 * @throws GatewayError `cross_site_request`
 */
export function checkOrigin(request: GatewayRequest, { app, others }: AllowedOrigins): void {
  const origin = request.headers.get("origin");
  if (origin === null || origin === (app ?? findOrigin(request)) || others?.has(origin) === true) return;
  throw new GatewayError(
    "cross_site_request",
    `Pages of ${origin.slice(0, 256)} may not call this server. Its operator can allow them in cors.origins.`,
  );
}
