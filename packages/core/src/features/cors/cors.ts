import type { Cors } from "../../contract/cors.js";
import type { GatewayRequest, GatewayResponse } from "../../http.js";

/** Which web pages may call the gateway from a browser. */
export interface CorsOptions {
  /**
   * The origins of the pages, such as `https://app.example.com`, or `"*"` for all pages. An origin has a scheme, a host, a
   * port unless it is the default port of the scheme, and no path.
   */
  readonly origins: "*" | readonly string[];
  /** How long a browser may remember a preflight response, in seconds: 0 to 86,400. Default 600. */
  readonly maxAgeSeconds?: number | undefined;
}

const DEFAULT_MAX_AGE_SECONDS = 600;

type CorsRequest = Pick<GatewayRequest, "headers" | "findUser">;

/** @param options validated; `undefined`: only the headers that a page may read are named, see {@link exposeHeaders} */
export function createCors(options: CorsOptions | undefined): Cors {
  const { origins = [], maxAgeSeconds = DEFAULT_MAX_AGE_SECONDS } = options ?? {};
  const listed = new Set(origins === "*" ? [] : origins);
  const isAllowed = (origin: string): boolean => origins === "*" || listed.has(origin);

  /** The headers for the origin of a request. A response that depends on the origin says so, for caches. */
  const allowOrigin = ({ headers, findUser }: CorsRequest): Record<string, string> => {
    const origin = headers.get("origin");
    const varies = listed.size > 0 ? { vary: "origin" } : undefined;
    if (origin === null || !isAllowed(origin)) return { ...varies };
    if (origins === "*") return { "access-control-allow-origin": "*" };
    // Without it, a browser sends no cookies, by which the host finds its signed-in users.
    const credentials = findUser && { "access-control-allow-credentials": "true" };
    return { "access-control-allow-origin": origin, ...credentials, ...varies };
  };

  return {
    origins: listed,
    readPreflight({ method, headers }) {
      if (method !== "OPTIONS") return undefined;
      const origin = headers.get("origin");
      const isOurs = origin !== null && isAllowed(origin);
      return isOurs ? (headers.get("access-control-request-method") ?? undefined) : undefined;
    },
    allowPreflight(request, id) {
      return toPreflightResponse({
        "x-request-id": id,
        ...allowOrigin(request),
        "access-control-allow-methods": "GET, HEAD, POST",
        "access-control-allow-headers": listRequestHeaders(
          request.headers.get("access-control-request-headers"),
        ),
        "access-control-max-age": String(maxAgeSeconds),
      });
    },
    concerns: ({ headers }) => options !== undefined || headers.get("origin") !== null,
    addHeaders(request, response) {
      const exposed = exposeHeaders(request, response);
      if (options === undefined) return exposed;
      return { ...exposed, headers: { ...exposed.headers, ...allowOrigin(request) } };
    },
  };
}

function toPreflightResponse(headers: Readonly<Record<string, string>>): GatewayResponse {
  return { status: 204, headers: { "cache-control": "no-store", ...headers }, body: "" };
}

/** Request headers that the gateway reads and that a page may not send without permission. */
const READ_HEADERS = [
  "authorization",
  "api-key",
  "content-type",
  "idempotency-key",
  "prefer",
  "x-calotype-tags",
  "x-calotype-webhook",
];

const MAX_NAMES = 64;
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,64}$/;

/**
 * The request headers that a page of an allowed origin may send: those that the gateway reads, and those that the page
 * announces. OpenAI's clients send `x-stainless-…`, `openai-organization` and others, and the list changes with their
 * versions. The gateway ignores headers that it does not know, so a list would only break clients.
 */
function listRequestHeaders(announced: string | null): string {
  const names = (announced ?? "").toLowerCase().split(",", MAX_NAMES);
  const valid = names.map((name) => name.trim()).filter((name) => HEADER_NAME.test(name));
  return [...new Set([...READ_HEADERS, ...valid])].join(", ");
}

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
function exposeHeaders(
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
