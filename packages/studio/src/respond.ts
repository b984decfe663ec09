import { isGatewayError, type Logger } from "@calotype/core";
import type { GatewayResponse, GatewayResponseBody } from "@calotype/core/adapter";
import type { ErrorBody } from "./wire.js";

/**
 * The page runs its own scripts and styles only, loads nothing from elsewhere, and cannot be framed. Images are those of the
 * page and those that Try has received, as `blob:` addresses.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The headers of every response. */
const SECURITY: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
};

/** Creates a response that no browser and no proxy keeps, unless the headers say so. */
export function respond(
  status: number,
  body: GatewayResponseBody,
  headers: Readonly<Record<string, string>>,
): GatewayResponse {
  return { status, headers: { "cache-control": "no-store", ...headers, ...SECURITY }, body };
}

/** Adds the headers of the studio to a response of the gateway. */
export function withSecurity(response: GatewayResponse): GatewayResponse {
  return { ...response, headers: { ...response.headers, "cache-control": "no-store", ...SECURITY } };
}

export function respondWithJson(value: unknown, status = 200): GatewayResponse {
  return respond(status, JSON.stringify(value), { "content-type": "application/json" });
}

export function respondWithError(
  status: number,
  code: string,
  message: string,
  param?: string,
): GatewayResponse {
  const body: ErrorBody = { error: { code, message, param: param ?? null } };
  return respondWithJson(body, status);
}

/** Responds to whatever a part of the studio threw. Unknown errors are logged, and not shown. */
export function respondToFailure(cause: unknown, logger: Logger): GatewayResponse {
  if (isGatewayError(cause)) return respondWithError(cause.status, cause.code, cause.message, cause.param);
  logger.error({ err: cause }, "A request to the studio failed.");
  return respondWithError(500, "internal_error", "The studio failed. The log of the server says why.");
}
