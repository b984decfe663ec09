import type { GatewayRequest } from "../exchange.js";
import type { Operation } from "../image-request.js";

const ENDPOINTS: readonly (readonly [path: string, operation: Operation])[] = [
  ["/v1/images/generations", "generate"],
  ["/v1/images/edits", "edit"],
  ["/api/v3/images/generations", "native"],
];

/** Paths of OpenAI's interface that the gateway answers itself, with 404 where it does not serve them. */
const RESERVED = /\/v1\/(?:images|models)(?:\/|$)/;

/** Where an operation is served. */
export function pathOfOperation(operation: Operation): string {
  return ENDPOINTS.find(([, served]) => served === operation)?.[0] ?? "";
}

/**
 * Finds the operation that a request asks for. `"unserved"` if the path belongs to the gateway but is no endpoint,
 * `undefined` if the path belongs to the host.
 */
export type RouteMatcher = (
  request: Pick<GatewayRequest, "method" | "url" | "mountPath">,
) => Operation | "unserved" | undefined;

/**
 * A matcher for a gateway with this base path (`""` or `/ai`).
 *
 * A path is an endpoint if it ends like one, so that the gateway can be mounted at any path. Below a base path or a
 * mount path the host has given everything to the gateway. Without either, only POST requests match at any depth:
 * other methods match only at exactly `/v1/…` and `/api/v3/…`, because `GET /shop/v1/images/edits` may be the host's.
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

/** The normalized path that a request asks for, without query and fragment. */
export function requestPath({ url }: Pick<GatewayRequest, "url">): string {
  return normalizePath(pathOf(url));
}

/**
 * The mount path without a slash at its end. `undefined` if there is none, and also if the mount path is the whole
 * path: a wildcard route of Express or Nest reports it so, and then nothing is known of where the gateway is mounted.
 */
function findMount(path: string, mountPath: string | undefined): string | undefined {
  if (mountPath === undefined) return undefined;
  const mount = normalizePath(mountPath);
  if (mount === "/") return "";
  return path.startsWith(`${mount}/`) ? mount : undefined;
}

/** True if the path is below the base path, wherever the host mounted that: before it, or as the end of the mount path. */
function isBelow(path: string, basePath: string, mount = ""): boolean {
  return (
    path.startsWith(`${basePath}/`) || path.startsWith(`${mount}${basePath}/`) || mount.endsWith(basePath)
  );
}

/** Doubled slashes count as one; a slash at the end does not count. */
function normalizePath(path: string): string {
  const single = path.includes("//") ? path.replace(/\/{2,}/g, "/") : path;
  return single.length > 1 && single.endsWith("/") ? single.slice(0, -1) : single;
}

/** The path of an absolute URL, or of one that begins at the root. */
function pathOf(url: string): string {
  const [address = ""] = url.split(/[?#]/, 1);
  const start = address.startsWith("/") ? 0 : address.indexOf("/", address.indexOf("://") + 3);
  return start === -1 ? "/" : address.slice(start);
}
