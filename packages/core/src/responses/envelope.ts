import { type GatewayError, shownCodeOf } from "../errors.js";
import type { GatewayRequest, GatewayResponse } from "../http.js";
import type { SecretMask } from "../redact.js";
import type { ImageResult } from "../types.js";
import type { JsonObject } from "../util/json.js";

/** The error envelope of the interface. */
export interface ErrorEnvelope {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: string;
    readonly param: string | null;
    readonly upstream_request_id?: string | undefined;
  };
}

/** The only place where an error becomes an envelope. The provider's code stands in for ours where it gave one. */
export function toEnvelope(error: GatewayError, mask: SecretMask): ErrorEnvelope {
  return {
    error: {
      message: mask(error.message),
      type: error.type,
      code: shownCodeOf(error),
      param: error.param ?? null,
      upstream_request_id: error.upstreamRequestId,
    },
  };
}

/**
 * An error as an answer.
 *
 * @param native answer with the provider's own body where there is one, as `/api/v3` does
 */
export function renderError(
  error: GatewayError,
  context: { readonly id: string; readonly mask: SecretMask; readonly native?: boolean },
): GatewayResponse {
  const { id, mask, native = false } = context;
  const own = native ? error.upstreamBody : undefined;
  return {
    status: error.status,
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-request-id": id,
      ...(error.retryAfterSeconds !== undefined && { "retry-after": String(error.retryAfterSeconds) }),
      ...(error.shouldRetry === false && { "x-should-retry": "false" }),
      ...error.headers,
    },
    body: own ?? JSON.stringify(toEnvelope(error, mask)),
  };
}

/** What every successful answer says beside its body. */
export interface ResponseContext {
  /** The request's id. */
  readonly id: string;
  /** Fields of the client that had no effect. */
  readonly ignored: readonly string[];
}

/** Headers of every successful answer of this type. */
export function toResponseHeaders(
  contentType: string,
  { id, ignored }: ResponseContext,
): Record<string, string> {
  const headers: Record<string, string> = {
    "content-type": contentType,
    "cache-control": "no-store",
    "x-request-id": id,
  };
  if (ignored.length > 0) headers["x-calotype-ignored"] = listNames(ignored);
  return headers;
}

const MAX_NAMES = 20;

/** Names that a client chose, fit for a header. */
function listNames(names: readonly string[]): string {
  return names
    .slice(0, MAX_NAMES)
    .map((name) => encodeURIComponent(name.slice(0, 64).toWellFormed()))
    .join(", ");
}

/** What the images' answer says beside the images. */
export interface ImagesResponseContext extends ResponseContext {
  /** Milliseconds since 1970, for providers that give no time. */
  readonly now: () => number;
}

/** The answer of `/v1`: `created` and `data`, and in `extra.errors` the images that failed. */
export function renderImages(result: ImageResult, context: ImagesResponseContext): GatewayResponse {
  const body: JsonObject = {
    ...result.fields,
    created: result.created ?? Math.floor(context.now() / 1000),
    data: result.images,
  };
  const extra = toExtra(result);
  if (extra !== undefined) body["extra"] = extra;
  return {
    status: 200,
    headers: toResponseHeaders("application/json", context),
    body: JSON.stringify(body),
  };
}

function toExtra({ extra, errors }: ImageResult): JsonObject | undefined {
  if (errors.length > 0) return { ...extra, errors };
  return extra !== undefined && Object.keys(extra).length > 0 ? extra : undefined;
}

/** The answer of `/api/v3`: the provider's own text. */
export function renderNative(text: string, context: ResponseContext): GatewayResponse {
  return {
    status: 200,
    headers: toResponseHeaders("application/json", context),
    body: text,
  };
}

/** The head of a relayed stream, with what keeps proxies from holding events back. */
export function renderStream(body: AsyncIterable<Uint8Array>, context: ResponseContext): GatewayResponse {
  return {
    status: 200,
    headers: {
      ...toResponseHeaders("text/event-stream; charset=utf-8", context),
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    },
    body,
  };
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
