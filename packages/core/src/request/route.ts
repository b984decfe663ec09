import { GatewayError, invalidRequest } from "../errors.js";
import type { Family, NativeEndpoint } from "../families/family.js";
import type { GatewayRequest, GatewayResponse } from "../http.js";
import type { Operation } from "../types.js";

/** A path at which images are made. */
export type Endpoint =
  | { readonly operation: "generate"; readonly path: "/v1/images/generations" }
  | { readonly operation: "edit"; readonly path: "/v1/images/edits" }
  | (NativeEndpoint & { readonly operation: "native" });

/** The path of the operation `native` for families that have no endpoint of their own. */
const NATIVE_PATH = "/api/v3/images/generations";

/** The endpoints of every gateway. */
const ENDPOINTS: readonly Endpoint[] = [
  { operation: "generate", path: "/v1/images/generations" },
  { operation: "edit", path: "/v1/images/edits" },
  { operation: "native", path: NATIVE_PATH },
];

/** Lists the endpoints of a gateway with these families. Of endpoints with the same path, the first one is used. */
export function listEndpoints(families: readonly Family[]): readonly Endpoint[] {
  const own = families.flatMap(({ nativeEndpoint, nativePath: path }) => {
    const endpoint = nativeEndpoint ?? (path && { path });
    return endpoint === undefined ? [] : [{ ...endpoint, operation: "native" } as const];
  });
  return [...ENDPOINTS, ...own];
}

/** Paths of OpenAI's interface that belong to the gateway. Those that it does not serve get a 404. */
const RESERVED = /\/v1\/images(?:\/|$)/;

/** A path of the gateway at which no images are made. */
export interface GatewayRoute {
  /** Matches the whole path. Its first group is the part before the gateway's own; `respond` gets the others. */
  readonly pattern: RegExp;
  /**
   * Responds to a request for the path. Does not reject.
   *
   * @param groups parts of the path as the client sent them: not decoded, and of any length
   */
  respond(request: GatewayRequest, groups: readonly (string | undefined)[]): Promise<GatewayResponse>;
}

/** A route, and the groups that its pattern found. */
interface FoundRoute {
  readonly route: GatewayRoute;
  readonly groups: readonly (string | undefined)[];
}

/**
 * The pattern of what the gateway says about itself, at the end of a path. The paths of OpenAI's interface have no such pages.
 *
 * @param name a regular expression
 */
export function toPagePattern(name: string): RegExp {
  return new RegExp(`^(?!.*/v1/images/)(.*)/${name}$`);
}

/** What a model serves: its operations, at the paths of its family. */
export interface ServedModel {
  readonly operations: ReadonlySet<Operation>;
  readonly family: Pick<Family, "nativeEndpoint" | "nativePath">;
}

/** Whether an endpoint serves a model. */
export function isServed({ operation, path }: Endpoint, { operations, family }: ServedModel): boolean {
  return operations.has(operation) && (operation !== "native" || path === findNativePath(family));
}

/** The paths that serve a model. */
export function findPaths({ operations, family }: ServedModel): readonly string[] {
  return ENDPOINTS.filter(({ operation }) => operations.has(operation)).map(({ operation, path }) =>
    operation === "native" ? findNativePath(family) : path,
  );
}

function findNativePath({ nativeEndpoint, nativePath = NATIVE_PATH }: ServedModel["family"]): string {
  return nativeEndpoint?.path ?? nativePath;
}

/**
 * Checks the method of a request. With `GET`, HEAD is accepted too: hosts leave out the body of its response.
 *
 * @param allow the header `allow` of the error
 * @throws GatewayError `method_not_allowed`
 */
export function checkMethod(
  { method }: Pick<GatewayRequest, "method">,
  expected: "POST" | "GET",
  allow: string = expected,
): void {
  if (method === expected || (expected === "GET" && method === "HEAD")) return;
  throw new GatewayError("method_not_allowed", `${method} is not allowed here: send ${expected}.`, {
    headers: { allow },
  });
}

/**
 * Names an endpoint for idempotency keys. The names of version 0.1 stay, so that a repeat is recognized while servers are
 * updated.
 */
export function idempotencyScopeOf({ operation, path }: Endpoint): string {
  return operation === "native" && path !== NATIVE_PATH ? path : operation;
}

/**
 * Finds the route of a request. Returns `"unserved"` if the path belongs to the gateway but is not served, and
 * `undefined` if the path belongs to the host.
 */
export type RouteMatcher = (
  request: Pick<GatewayRequest, "method" | "url" | "mountPath">,
) => Endpoint | FoundRoute | "unserved" | undefined;

/**
 * Creates a matcher for a gateway with this base path (`""` or `/ai`).
 *
 * A path is an endpoint if it ends like one, so that the gateway can be mounted at any path. Below a base path or a
 * mount path, the host has given every path to the gateway. Without either, only POST requests for images match at any
 * depth. Other requests match only at exactly `/v1/…`, `/api/…`, `/healthz`, `/openapi.json` and `/reference`, because `GET
 * /shop/v1/images/edits` may be a route of the host.
 *
 * @param endpoints those of {@link listEndpoints}
 * @param routes the other routes, in the order in which they are tried
 */
export function createRouteMatcher(
  basePath: string,
  endpoints: readonly Endpoint[],
  routes: readonly GatewayRoute[],
): RouteMatcher {
  return ({ method, url, mountPath }) => {
    const path = normalizePath(pathOf(url));
    const mount = findMount(path, mountPath);
    if (basePath !== "" && !isBelow(path, basePath, mount)) return undefined;
    const isGiven = basePath !== "" || mount !== undefined;
    const endpoint = endpoints.find((served) => path.endsWith(served.path));
    if (endpoint !== undefined && (isGiven || method === "POST" || path === endpoint.path)) return endpoint;
    for (const route of routes) {
      const [found, before, ...groups] = route.pattern.exec(path) ?? [];
      if (found !== undefined && (isGiven || before === "")) return { route, groups };
    }
    return isGiven && RESERVED.test(path) ? "unserved" : undefined;
  };
}

/** The characters of a host name, an IPv4 address or an IPv6 address, and a port. */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/**
 * Returns the URL of the gateway for links to its own routes: everything before `/v1/…`. If the mount path is unknown, the
 * other routes match only at exactly `/v1/…`, so the path before the endpoint is left out.
 *
 * The origin is the header `Host`, or that of the URL if there is no such header. Headers such as `x-forwarded-host` are not read: behind a proxy that
 * does not set them, every client could. A wrong `Host` does no harm to others, because only the client that sent it gets
 * the link.
 *
 * @throws GatewayError `invalid_request_error` if there is no valid `Host`
 */
export function findLinkBase(request: GatewayRequest, endpoint: Endpoint, basePath: string): string {
  const origin = findOrigin(request);
  if (origin !== undefined)
    return new URL(origin + findPathBefore(request, endpoint, basePath)).href.replace(/\/$/, "");
  throw invalidRequest("The header Host must be the name of this server: the links to images need it.");
}

/** Returns the path before `/v1/…` at which the gateway's other routes are, or `""`. */
export function findPathBefore(
  request: Pick<GatewayRequest, "url" | "mountPath">,
  { path: end }: Endpoint,
  basePath: string,
): string {
  const path = requestPath(request);
  const isGiven = basePath !== "" || findMount(path, request.mountPath) !== undefined;
  return isGiven ? path.slice(0, -end.length) : "";
}

/**
 * Returns the origin at which the host has got a request. The host is that of the header `Host`, which in Next.js is correct when
 * the URL is not. `undefined` for a request without a valid host.
 */
export function findOrigin({
  url,
  headers,
  isEncrypted = false,
}: Pick<GatewayRequest, "url" | "headers" | "isEncrypted">): string | undefined {
  const absolute = !url.startsWith("/") && URL.canParse(url) ? new URL(url) : undefined;
  const host = headers.get("host") ?? "";
  const scheme = absolute?.protocol ?? (isEncrypted ? "https:" : "http:");
  const address = `${scheme}//${HOST.test(host) ? host : (absolute?.host ?? "")}`;
  return URL.canParse(address) ? new URL(address).origin : undefined;
}

/** The normalized path of a request, without query and fragment. */
export function requestPath({ url }: Pick<GatewayRequest, "url">): string {
  return normalizePath(pathOf(url));
}

/** The query of a request. */
export function readQuery({ url }: Pick<GatewayRequest, "url">): URLSearchParams {
  const [address = ""] = url.split("#", 1);
  const start = address.indexOf("?");
  return new URLSearchParams(start === -1 ? "" : address.slice(start));
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
  const [address = ""] = url.includes("?") || url.includes("#") ? url.split(/[?#]/, 1) : [url];
  const start = address.startsWith("/") ? 0 : address.indexOf("/", address.indexOf("://") + 3);
  return start === -1 ? "/" : address.slice(start);
}
