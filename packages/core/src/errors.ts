/** The `error.type` of the envelope. */
export type ErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "permission_error"
  | "rate_limit_error"
  | "insufficient_quota"
  | "upstream_error"
  | "server_error";

interface ErrorKind {
  readonly status: number;
  readonly type: ErrorType;
}

/** Every error of the gateway: its code, the HTTP status and the type it is answered with. */
const ERROR_KINDS = {
  /** The request is malformed, or a field is missing or wrong; `param` names it. */
  invalid_request_error: { status: 400, type: "invalid_request_error" },
  /** No API key, or one that nobody holds. */
  invalid_api_key: { status: 401, type: "authentication_error" },
  /** Every channel that serves the model had its key refused by the provider. */
  upstream_authentication_failed: { status: 401, type: "authentication_error" },
  /** The caller may not use this model. */
  model_not_allowed: { status: 403, type: "permission_error" },
  /** The caller's budget does not cover what the request may cost. */
  insufficient_quota: { status: 403, type: "insufficient_quota" },
  /** The operator's `beforeSend` refused the request. */
  request_refused: { status: 403, type: "permission_error" },
  /** Billing is on and the operator gave this model no price. */
  model_not_priced: { status: 403, type: "permission_error" },
  /** Billing is on and the operator gave this caller's group no ratio. */
  group_not_priced: { status: 403, type: "permission_error" },
  /** No path of the gateway. */
  not_found: { status: 404, type: "invalid_request_error" },
  /** `gateway.probeChannel()`: there is no channel with this id. */
  channel_not_found: { status: 404, type: "invalid_request_error" },
  /** No such service model, or no channel serves it. */
  model_not_found: { status: 404, type: "invalid_request_error" },
  /** A path of the gateway, asked with another method than POST. */
  method_not_allowed: { status: 405, type: "invalid_request_error" },
  /** The body arrived too slowly. Nothing was sent to a provider. */
  request_timeout: { status: 408, type: "invalid_request_error" },
  /** The request with this `Idempotency-Key` is still running. */
  idempotency_in_progress: { status: 409, type: "invalid_request_error" },
  /** The request with this `Idempotency-Key` ran, and its response is not stored: a stream, or too large. */
  idempotency_not_replayable: { status: 409, type: "invalid_request_error" },
  /** The body is larger than the gateway takes. */
  request_too_large: { status: 413, type: "invalid_request_error" },
  /** The body is of a type or encoding that the endpoint does not take. */
  unsupported_media_type: { status: 415, type: "invalid_request_error" },
  /** Another request had this `Idempotency-Key`. */
  idempotency_conflict: { status: 422, type: "invalid_request_error" },
  /** The client left before its request was sent to a provider. Nobody reads this answer. */
  client_closed_request: { status: 499, type: "invalid_request_error" },
  /** The provider refused the request; it is answered with the provider's own 4xx status. */
  upstream_rejected: { status: 400, type: "invalid_request_error" },
  /** A limit of this gateway on requests, images or requests at once is reached. */
  rate_limit_exceeded: { status: 429, type: "rate_limit_error" },
  /** The provider's rate limit, on every channel that could be tried. */
  upstream_rate_limited: { status: 429, type: "rate_limit_error" },
  /** The provider account's allowance is used up. */
  upstream_quota_exceeded: { status: 429, type: "rate_limit_error" },
  /** A failure of the gateway or of the operator's own functions. */
  internal_error: { status: 500, type: "server_error" },
  /** A body parser before the gateway read the body. Mount the gateway before the body parser. */
  body_already_read: { status: 500, type: "server_error" },
  /** The provider failed. */
  upstream_error: { status: 502, type: "upstream_error" },
  /** The provider's answer is cut, too large or not JSON. */
  upstream_invalid_response: { status: 502, type: "upstream_error" },
  /** No connection to the provider. */
  upstream_unreachable: { status: 502, type: "upstream_error" },
  /** The provider answered with success and without an image. */
  upstream_no_image: { status: 502, type: "upstream_error" },
  /** The limit of bytes in flight is reached. */
  overloaded: { status: 503, type: "server_error" },
  /** The ledger or the admission store cannot be reached, or the options are not loaded yet. */
  gateway_unavailable: { status: 503, type: "server_error" },
  /** The gateway is closing. */
  gateway_closed: { status: 503, type: "server_error" },
  /** The provider did not answer in time; an image may have been made. */
  upstream_timeout: { status: 504, type: "upstream_error" },
} as const satisfies Record<string, ErrorKind>;

/** The gateway's own error codes. A provider's code is kept beside it, see {@link GatewayError.upstreamCode}. */
export type ErrorCode = keyof typeof ERROR_KINDS;

/** What may be said of an error beyond its code and message. */
export interface GatewayErrorDetails {
  /** The field that is wrong, as a path: `sequential_image_generation_options.max_images`. */
  readonly param?: string | undefined;
  /** Answer with this status, 400 to 599, instead of the code's own. */
  readonly status?: number | undefined;
  /** The provider's error code; the envelope shows it as `error.code`. */
  readonly upstreamCode?: string | undefined;
  readonly upstreamRequestId?: string | undefined;
  /** The provider's own error body, JSON; the native endpoint answers with it. */
  readonly upstreamBody?: string | undefined;
  /** Seconds after which a repeat makes sense; sent as `retry-after`. */
  readonly retryAfterSeconds?: number | undefined;
  /** `false` where a repeat could be charged twice or is pointless; sent as `x-should-retry: false`. */
  readonly shouldRetry?: false | undefined;
  /** Headers of the answer beyond those. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly cause?: unknown;
}

const MARK = Symbol.for("calotype.GatewayError");

/**
 * Every error that a client may see. Throw one from `authenticate` to choose the answer yourself.
 *
 * @example
 * ```ts
 * import { GatewayError } from "@calotype/core";
 *
 * throw new GatewayError("model_not_allowed", "This key is for drafts only.");
 * ```
 */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly code: ErrorCode;
  readonly status: number;
  readonly type: ErrorType;
  readonly param: string | undefined;
  readonly upstreamCode: string | undefined;
  readonly upstreamRequestId: string | undefined;
  readonly upstreamBody: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly shouldRetry: false | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Marks the class across copies of the package, where `instanceof` fails. */
  readonly [MARK] = true;

  constructor(code: ErrorCode, message: string, details: GatewayErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    const kind: ErrorKind = ERROR_KINDS[code];
    this.code = code;
    this.status = readStatus(details.status ?? kind.status);
    this.type = kind.type;
    this.param = details.param;
    this.upstreamCode = details.upstreamCode;
    this.upstreamRequestId = details.upstreamRequestId;
    this.upstreamBody = details.upstreamBody;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.shouldRetry = details.shouldRetry;
    this.headers = readHeaders(details.headers ?? {});
  }
}

function readStatus(status: number): number {
  if (Number.isInteger(status) && status >= 400 && status <= 599) return status;
  throw new RangeError(`The status of an error is a whole number from 400 to 599, not ${status}`);
}

/** @throws TypeError for a header that no host could send */
function readHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.keys(headers).length === 0 ? headers : Object.fromEntries(new Headers(headers));
}

/** Recognizes a {@link GatewayError} of any copy of this package. */
export function isGatewayError(value: unknown): value is GatewayError {
  return typeof value === "object" && value !== null && MARK in value;
}

/** The `error.code` that a client sees: the provider's where it gave one, and one code for every 400 of ours. */
export function shownCodeOf({ upstreamCode, status, code }: GatewayError): string {
  return upstreamCode ?? (status === 400 ? "invalid_request_error" : code);
}

/** A 400 that names the field: `invalid_request_error` with `param`. */
export function invalidRequest(message: string, param?: string): GatewayError {
  return new GatewayError("invalid_request_error", message, { param });
}
