import type { AuthenticatedRequest } from "../../auth/authenticate.js";
import { GatewayError } from "../../errors.js";
import { findOrigin } from "../../request/route.js";

/** The origins whose pages may send requests of signed-in users. */
export interface AppOrigins {
  /** The origin of the app. `undefined`: the scheme and the host of each request. */
  readonly app: string | undefined;
  /** Further origins. Default: none. */
  readonly others: ReadonlySet<string> | undefined;
}

/**
 * Checks that no page of another site has sent a request. A browser adds its cookies to requests of all pages, so a cookie does
 * not say who wants the request. `Sec-Fetch-Site` and `Origin` do: a page cannot set them (Fetch standard, forbidden
 * request-header).
 *
 * @throws GatewayError `cross_site_request`
 */
export function checkSite(request: AuthenticatedRequest, origins: AppOrigins): void {
  const { method, headers } = request;
  // The gateway changes nothing for them.
  const isRead = method === "GET" || method === "HEAD";
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  // `none`: a user has typed the address, or opened a bookmark.
  if (site === "same-origin" || (site === "none" && isRead)) return;
  if (
    origin !== null &&
    (origin === (origins.app ?? findOrigin(request)) || origins.others?.has(origin) === true)
  )
    return;
  if (site === null && origin === null && isRead) return;
  throw new GatewayError("cross_site_request", describe(site, origin));
}

const KEY =
  "Send it from a page of this site, or with an API key in the header Authorization: Bearer <API_KEY>.";

function describe(site: string | null, origin: string | null): string {
  if (site === null && origin === null) {
    return `The request has no API key, and neither Origin nor Sec-Fetch-Site, which browsers send. ${KEY}`;
  }
  const sender = [origin && `Origin: ${origin}`, site && `Sec-Fetch-Site: ${site}`]
    .filter(Boolean)
    .join(", ");
  return `The request has no API key, and a page of another site may have sent it (${sender.slice(0, 256)}). ${KEY}`;
}
