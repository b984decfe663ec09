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

/** The codes of the gateway's errors, with the HTTP status and type of their responses. */
export const ERROR_KINDS = {
  /** The request is malformed, or a field is missing or wrong; `param` names it. */
  invalid_request_error: { status: 400, type: "invalid_request_error" },
  /** The API key is missing or unknown. */
  invalid_api_key: { status: 401, type: "authentication_error" },
  /** The request has no API key, and nobody is signed in to the app. */
  not_signed_in: { status: 401, type: "authentication_error" },
  /** The providers of all channels that serve the model refused our key. */
  upstream_authentication_failed: { status: 401, type: "authentication_error" },
  /** The caller may not use this model. */
  model_not_allowed: { status: 403, type: "permission_error" },
  /** The caller's budget does not cover the maximum cost of the request. */
  insufficient_quota: { status: 403, type: "insufficient_quota" },
  /** The operator's `beforeSend` refused the request. */
  request_refused: { status: 403, type: "permission_error" },
  /** A page of another site may have sent the request. */
  cross_site_request: { status: 403, type: "permission_error" },
  /** Billing is enabled and the model has no price. */
  model_not_priced: { status: 403, type: "permission_error" },
  /** Billing is enabled and the caller's group has no ratio. */
  group_not_priced: { status: 403, type: "permission_error" },
  /** The path is not one of the gateway's. */
  not_found: { status: 404, type: "invalid_request_error" },
  /** There is no image under this link, or the link was changed. */
  file_not_found: { status: 404, type: "invalid_request_error" },
  /** The caller has no task with this id, or it ended long ago and was deleted. */
  task_not_found: { status: 404, type: "invalid_request_error" },
  /** `gateway.probeChannel()`, `pauseChannel()` and `resumeChannel()`: there is no channel with this id. */
  channel_not_found: { status: 404, type: "invalid_request_error" },
  /** `gateway.callers`: no caller with this id was created at run time. */
  caller_not_found: { status: 404, type: "invalid_request_error" },
  /** The service model does not exist, or no channel serves it. */
  model_not_found: { status: 404, type: "invalid_request_error" },
  /** The endpoint does not take the method. The header `allow` names the one that it takes. */
  method_not_allowed: { status: 405, type: "invalid_request_error" },
  /** The body arrived too slowly. Nothing was sent to a provider. */
  request_timeout: { status: 408, type: "invalid_request_error" },
  /** `gateway.callers`: the id is taken, also by a caller of the options or by one that was revoked. */
  caller_exists: { status: 409, type: "invalid_request_error" },
  /** `gateway.callers`: the caller was revoked, so it cannot be changed and gets no new key. */
  caller_revoked: { status: 409, type: "invalid_request_error" },
  /** The request with this `Idempotency-Key` is still running. */
  idempotency_in_progress: { status: 409, type: "invalid_request_error" },
  /** The request with this `Idempotency-Key` ran, and its response is not stored: a stream, or too large. */
  idempotency_not_replayable: { status: 409, type: "invalid_request_error" },
  /** The task was sent to a provider or has ended, so it can no longer be cancelled. */
  task_not_cancellable: { status: 409, type: "invalid_request_error" },
  /** The link to a stored image has expired. */
  file_expired: { status: 410, type: "invalid_request_error" },
  /** The body is larger than the gateway accepts. */
  request_too_large: { status: 413, type: "invalid_request_error" },
  /** The endpoint does not accept the type or encoding of the body. */
  unsupported_media_type: { status: 415, type: "invalid_request_error" },
  /** The stored image has none of the bytes that the header `range` names. */
  range_not_satisfiable: { status: 416, type: "invalid_request_error" },
  /** Another request was sent with this `Idempotency-Key`. */
  idempotency_conflict: { status: 422, type: "invalid_request_error" },
  /** The client disconnected before its request was sent to a provider. The client does not get this response. */
  client_closed_request: { status: 499, type: "invalid_request_error" },
  /** The provider refused the request. The response has the provider's own 4xx status. */
  upstream_rejected: { status: 400, type: "invalid_request_error" },
  /** A limit of this gateway on requests, images or concurrent requests is reached. */
  rate_limit_exceeded: { status: 429, type: "rate_limit_error" },
  /** The rate limit of the provider is reached on every channel that could be tried. */
  upstream_rate_limited: { status: 429, type: "rate_limit_error" },
  /** The provider account's allowance is used up. */
  upstream_quota_exceeded: { status: 429, type: "rate_limit_error" },
  /** A failure of the gateway or of the operator's own functions. */
  internal_error: { status: 500, type: "server_error" },
  /** A body parser before the gateway read the body. Mount the gateway before the body parser. */
  body_already_read: { status: 500, type: "server_error" },
  /** A task's request was deleted from the store of results before the task ran. Nothing was sent. */
  task_input_lost: { status: 500, type: "server_error" },
  /** `gateway.usage`: the ledger keeps no totals, so there is no usage over time, and records are not found by id. */
  no_totals: { status: 501, type: "server_error" },
  /** The provider failed. */
  upstream_error: { status: 502, type: "upstream_error" },
  /** The upstream response is incomplete, too large or not JSON. */
  upstream_invalid_response: { status: 502, type: "upstream_error" },
  /** The provider cannot be reached. */
  upstream_unreachable: { status: 502, type: "upstream_error" },
  /** The upstream response was successful and has no image. */
  upstream_no_image: { status: 502, type: "upstream_error" },
  /** The images were made and charged, and cannot be marked as made by AI, which `marks.require` demands. */
  image_not_marked: { status: 502, type: "upstream_error" },
  /** The task was sent to a provider, and its process ended before the outcome was known. An image may have been made. */
  outcome_unknown: { status: 502, type: "upstream_error" },
  /** A task's images were made and charged, and their response could not be kept. */
  task_result_lost: { status: 502, type: "server_error" },
  /** The task waited in the queue until its time was over. Nothing was sent to a provider. */
  task_expired: { status: 503, type: "server_error" },
  /** The task store has no room for another task that has not ended. */
  task_queue_full: { status: 503, type: "server_error" },
  /** An operator has paused all channels that serve the model. Nothing was sent. */
  model_paused: { status: 503, type: "server_error" },
  /** The limit of bytes in flight is reached. */
  overloaded: { status: 503, type: "server_error" },
  /** The ledger, the admission store or the store of results cannot be reached, or the options are not loaded yet. */
  gateway_unavailable: { status: 503, type: "server_error" },
  /** The gateway is closing. */
  gateway_closed: { status: 503, type: "server_error" },
  /** The provider did not respond in time. An image may have been made. */
  upstream_timeout: { status: 504, type: "upstream_error" },
} as const satisfies Record<string, ErrorKind>;

/**
 * The gateway's own error codes. The page of errors lists them with their status, cause and remedy. A provider's code is kept
 * beside it, see {@link GatewayError.upstreamCode}.
 */
// With `keyof` alone, the compiler would show all codes in place of this name.
export type ErrorCode = Extract<keyof typeof ERROR_KINDS, string>;

/** What a request may cost, and what is left of the budget that does not cover it. Decimal strings. */
export interface RefusingBudget {
  readonly asked: string;
  readonly left: string;
}

/** Details of an error. */
export interface GatewayErrorDetails {
  /** The field that is wrong, as a path: `sequential_image_generation_options.max_images`. */
  readonly param?: string | undefined;
  /** The status of the response, 400 to 599. Default: the status of the code. */
  readonly status?: number | undefined;
  /** The provider's error code; the envelope shows it as `error.code`. */
  readonly upstreamCode?: string | undefined;
  /** The provider's id of the request; the envelope shows it as `error.upstream_request_id`. */
  readonly upstreamRequestId?: string | undefined;
  /** The provider's own error body, JSON. The native endpoint responds with it. */
  readonly upstreamBody?: string | undefined;
  /** Seconds after which a repeat makes sense; sent as `retry-after`. */
  readonly retryAfterSeconds?: number | undefined;
  /** `false` if a repeat could be charged twice or cannot succeed. Sent as `x-should-retry: false`. */
  readonly shouldRetry?: false | undefined;
  /**
   * The limit that refused the request, for telemetry. The gateway's own: `requests`, `images`, `concurrent`, the same with
   * `model-` before them for the limits of a model, `budget`, `bytes`, `disk`, `tasks`, `task-clients`.
   */
  readonly limit?: string | undefined;
  /** Of a budget that does not cover the request, for the operator. The client does not get it. */
  readonly budget?: RefusingBudget | undefined;
  /** Further headers of the response. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The original error, for `onError` and the log. The client does not get it. */
  readonly cause?: unknown;
}

const MARK = Symbol.for("calotype.GatewayError");

/**
 * An error that is sent to the client. Throw one from `authenticate`, `beforeSend` or `afterImage` to choose the response.
 * `onError` gets the one that the client got. Recognize it with {@link isGatewayError}: there may be two copies of the package.
 *
 * @example
 * ```ts
 * import { GatewayError } from "@calotype/core";
 *
 * throw new GatewayError("model_not_allowed", "This key is for drafts only.");
 * ```
 */
export class GatewayError extends Error {
  /** Always `"GatewayError"`. */
  override readonly name = "GatewayError";
  /** The code of the error; the envelope has it as `error.code`, unless there is an `upstreamCode`. */
  readonly code: ErrorCode;
  /** The HTTP status of the response. */
  readonly status: number;
  /** The type of the error; the envelope has it as `error.type`. */
  readonly type: ErrorType;
  /** The field that is wrong, as a path; the envelope has it as `error.param`. */
  readonly param: string | undefined;
  /** The provider's error code; the envelope has it as `error.code`. */
  readonly upstreamCode: string | undefined;
  /** The provider's id of the request; the envelope has it as `error.upstream_request_id`. */
  readonly upstreamRequestId: string | undefined;
  /** The provider's own error body, JSON. The native endpoint responds with it. */
  readonly upstreamBody: string | undefined;
  /** Seconds after which a repeat makes sense; sent as `retry-after`. */
  readonly retryAfterSeconds: number | undefined;
  /** `false` if a repeat could be charged twice or cannot succeed; sent as `x-should-retry: false`. */
  readonly shouldRetry: false | undefined;
  /** The limit that refused the request, such as `requests` or `budget`. */
  readonly limit: string | undefined;
  /** What the request may cost, and what is left of the budget that does not cover it. */
  readonly budget: RefusingBudget | undefined;
  /** Further headers of the response. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Marks the class across copies of the package, where `instanceof` fails.
   *
   * @internal
   */
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
    this.limit = details.limit;
    this.budget = details.budget;
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

/** The `error.code` for the client: the provider's code if there is one, and one code for all our 400 responses. */
export function shownCodeOf({ upstreamCode, status, code }: GatewayError): string {
  return upstreamCode ?? (status === 400 ? "invalid_request_error" : code);
}

/** A 400 that names the field: `invalid_request_error` with `param`. */
export function invalidRequest(message: string, param?: string): GatewayError {
  return new GatewayError("invalid_request_error", message, { param });
}

/** A store or a ledger did not do its work. A client may try again in 5 seconds. */
export function unavailable(message: string, cause?: unknown): GatewayError {
  return new GatewayError("gateway_unavailable", message, { retryAfterSeconds: 5, cause });
}

/** The 503 for a request whose bytes do not fit. */
export function overloaded(): GatewayError {
  return new GatewayError(
    "overloaded",
    "This server has no room for more bytes of requests: try again soon.",
    { retryAfterSeconds: 1, limit: "bytes" },
  );
}
