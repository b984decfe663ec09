import type { Dialect } from "../families/dialect.js";
import type { UpstreamCall } from "../families/upstream-call.js";

/** Where the calls of a channel go. */
export interface Address {
  /** Without a slash at the end, and without its query. */
  readonly baseUrl: string;
  /** The base URL with its query. */
  readonly full: string;
  /** The fields of the query. */
  readonly query: Readonly<Record<string, string>>;
  /**
   * Returns the URL of a call.
   *
   * @throws Error if the path is a whole URL on a host that is not the channel's own, because the key is sent with each call
   */
  toUrl(call: Pick<UpstreamCall, "path" | "query">): string;
}

/** Reads the base URL of a channel. A URL without a path gets the path of the dialect. */
export function readAddress(
  address: string | undefined,
  { defaultBaseUrl, defaultPath, hosts = [] }: Dialect,
): Address {
  const url = new URL(address ?? defaultBaseUrl ?? "");
  const ownPath = defaultPath ?? (defaultBaseUrl === undefined ? "/" : new URL(defaultBaseUrl).pathname);
  const path = (url.pathname === "/" ? ownPath : url.pathname).replace(/\/+$/, "");
  const baseUrl = url.origin + path;
  const isOwn = ({ protocol, origin, hostname }: URL): boolean =>
    origin === url.origin || (protocol === "https:" && hosts.some((host) => includesHost(host, hostname)));
  return {
    baseUrl,
    full: baseUrl + url.search,
    query: Object.fromEntries(url.searchParams),
    toUrl(call) {
      if (call.path.startsWith("/")) return withQuery(baseUrl + call.path + url.search, call.query);
      if (!isOwn(new URL(call.path))) {
        throw new Error("The provider named a URL that is not on a host of the channel.");
      }
      return withQuery(call.path, call.query);
    },
  };
}

/** @param host a host, or `*.example.com` for all hosts below it */
function includesHost(host: string, hostname: string): boolean {
  return host.startsWith("*.") ? hostname.endsWith(host.slice(1)) : hostname === host;
}

/** A field of the query of the call takes the place of one of the base URL. */
function withQuery(address: string, query: UpstreamCall["query"]): string {
  if (query === undefined) return address;
  const url = new URL(address);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}
