import { type GatewayError, shownCodeOf } from "../errors.js";
import type { GatewayResponse } from "../http.js";
import type { Redaction } from "../redact.js";
import type { Endpoint } from "../request/route.js";

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

/** Converts an error to the envelope. The provider's code replaces ours if it gave one. */
export function toEnvelope(error: GatewayError, redact: Redaction): ErrorEnvelope {
  return {
    error: {
      message: redact(error.message),
      type: error.type,
      code: shownCodeOf(error),
      param: error.param ?? null,
      upstream_request_id: error.upstreamRequestId,
    },
  };
}

/** What the response to a failed request needs besides its error. */
export interface ErrorContext {
  /** The request's id. */
  readonly id: string;
  readonly redact: Redaction;
  /** The endpoint of the request. A native endpoint sends the provider's own body if there is one. */
  readonly endpoint?: Endpoint | undefined;
}

/** Converts an error to a response. */
export function renderError(error: GatewayError, { id, redact, endpoint }: ErrorContext): GatewayResponse {
  const own = endpoint?.operation === "native" ? error.upstreamBody : undefined;
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
    body: own ?? JSON.stringify(toErrorBody(error, { id, redact, endpoint })),
  };
}

function toErrorBody(error: GatewayError, { id, redact, endpoint }: ErrorContext): object {
  const envelope = toEnvelope(error, redact);
  return endpoint?.operation === "native"
    ? { ...endpoint.toErrorFields?.(envelope.error, id), ...envelope }
    : envelope;
}

/** What the headers of every successful response contain. */
export interface ResponseContext {
  /** The request's id. */
  readonly id: string;
  /** Fields of the client that had no effect. */
  readonly ignored: readonly string[];
  /** The size that was requested in place of the client's, if it was replaced. */
  readonly replacedSize?: string | undefined;
}

/** Returns the headers of a successful response of this content type. */
export function toResponseHeaders(
  contentType: string,
  { id, ignored, replacedSize }: ResponseContext,
): Record<string, string> {
  const headers: Record<string, string> = {
    "content-type": contentType,
    "cache-control": "no-store",
    "x-request-id": id,
  };
  if (ignored.length > 0) headers["x-calotype-ignored"] = listNames(ignored);
  if (replacedSize !== undefined) headers["x-calotype-size"] = replacedSize;
  return headers;
}

const MAX_NAMES = 20;

/** Encodes names that a client chose for use in a header. */
function listNames(names: readonly string[]): string {
  return names
    .slice(0, MAX_NAMES)
    .map((name) => encodeURIComponent(name.slice(0, 64).toWellFormed()))
    .join(", ");
}

/** Returns the response with this JSON. */
export function renderJson(body: GatewayResponse["body"], context: ResponseContext): GatewayResponse {
  return { status: 200, headers: toResponseHeaders("application/json", context), body };
}

/** Returns the response for a relayed stream, with headers that keep proxies from buffering events. */
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
