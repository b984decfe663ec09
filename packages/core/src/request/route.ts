import type { GatewayRequest } from "../http.js";
import type { Operation } from "../types.js";

const ENDPOINTS: readonly (readonly [path: string, operation: Operation])[] = [
  ["/v1/images/generations", "generate"],
  ["/v1/images/edits", "edit"],
  ["/api/v3/images/generations", "native"],
];

/** Paths of OpenAI's interface that belong to the gateway. Those that it does not serve get a 404. */
const RESERVED = /\/v1\/(?:images|models)(?:\/|$)/;

/** Where an operation is served. */
export function pathOfOperation(operation: Operation): string {
  return ENDPOINTS.find(([, served]) => served === operation)?.[0] ?? "";
}

/**
 * Finds the operation of a request. Returns `"unserved"` if the path belongs to the gateway but is not an endpoint,
 * and `undefined` if the path belongs to the host.
 */
export type RouteMatcher = (
  request: Pick<GatewayRequest, "method" | "url" | "mountPath">,
) => Operation | "unserved" | undefined;

/**
 * Creates a matcher for a gateway with this base path (`""` or `/ai`).
 *
 * A path is an endpoint if it ends like one, so that the gateway can be mounted at any path. Below a base path or a
 * mount path, the host has given every path to the gateway. Without either, only POST requests match at any depth.
 * Other methods match only at exactly `/v1/…` and `/api/v3/…`, because `GET /shop/v1/images/edits` may be a route of
 * the host.
 */
export function createRouteMatcher(basePath: string): RouteMatcher {
  return ({ method, url, mountPath }) => {
    const path = normalizePath(pathOf(url));
    const mount = findMount(path, mountPath);
    if (basePath !== "" && !isBelow(path, basePath, mount)) return undefined;
    const isGiven = basePath !== "" || mount !== undefined;
    const endpoint = ENDPOINTS.find(([end]) => path.endsWith(end));
    if (endpoint !== undefined && (isGiven || method === "POST" || path === endpoint[0])) return endpoint[1];
    return isGiven && RESERVED.test(path) ? "unserved" : undefined;
  };
}

/** The normalized path of a request, without query and fragment. */
export function requestPath({ url }: Pick<GatewayRequest, "url">): string {
  return normalizePath(pathOf(url));
}

/**
 * The mount path without a trailing slash. `undefined` if there is none, or if the mount path is the whole path: a
 * wildcard route of Express or Nest reports this, and then the mount path is not known.
 */
function findMount(path: string, mountPath: string | undefined): string | undefined {
  if (mountPath === undefined) return undefined;
  const mount = normalizePath(mountPath);
  if (mount === "/") return "";
  return path.startsWith(`${mount}/`) ? mount : undefined;
}

/**
 * True if the path is below the base path. The host may have mounted the base path inside another path, or the mount
 * path may end with it.
 */
function isBelow(path: string, basePath: string, mount = ""): boolean {
  return (
    path.startsWith(`${basePath}/`) || path.startsWith(`${mount}${basePath}/`) || mount.endsWith(basePath)
  );
}

/** Doubled slashes count as one, and a trailing slash is removed. */
function normalizePath(path: string): string {
  const single = path.includes("//") ? path.replace(/\/{2,}/g, "/") : path;
  return single.length > 1 && single.endsWith("/") ? single.slice(0, -1) : single;
}

/** Returns the path of an absolute URL, or of a URL that begins at the root. */
function pathOf(url: string): string {
  const [address = ""] = url.split(/[?#]/, 1);
  const start = address.startsWith("/") ? 0 : address.indexOf("/", address.indexOf("://") + 3);
  return start === -1 ? "/" : address.slice(start);
}
