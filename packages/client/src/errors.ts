import type { components } from "./openapi-types.js";

type Details = components["schemas"]["ErrorDetails"];

/**
 * The code of an error. Those of the client itself are `connection_failed`, `timeout`, `invalid_response` and `task_cancelled`.
 * All others are the gateway's or the provider's.
 */
export type CalotypeErrorCode =
  | Details["code"]
  | "connection_failed"
  | "timeout"
  | "invalid_response"
  | "task_cancelled";

/** The type of an error: the gateway's, or `client_error` for the codes of the client itself. */
export type CalotypeErrorType = Details["type"] | "client_error";

/** What is known of an error. */
export interface CalotypeErrorDetails {
  readonly code: CalotypeErrorCode;
  readonly type?: CalotypeErrorType | undefined;
  readonly param?: string | null | undefined;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly upstreamRequestId?: string | undefined;
  readonly retryAfter?: number | undefined;
  readonly shouldRetry?: boolean | undefined;
  readonly cause?: unknown;
}

/**
 * Why a call of the client failed. A call that was aborted rejects with the `reason` of its signal instead.
 *
 * @example
 * ```ts
 * import { CalotypeError, createClient } from "@calotype/client";
 *
 * const client = createClient({ baseUrl: "/" });
 * try {
 *   await client.generate({ model: "seedream-4-5", prompt: "a paper boat" });
 * } catch (error) {
 *   if (!(error instanceof CalotypeError)) throw error;
 *   console.log(error.code, error.message, error.requestId);
 * }
 * ```
 */
export class CalotypeError extends Error {
  override readonly name = "CalotypeError";
  /** What went wrong, for programs: `insufficient_quota`, `rate_limit_exceeded` … */
  readonly code: CalotypeErrorCode;
  /** The kind of error. */
  readonly type: CalotypeErrorType;
  /** The path of the wrong field, or `null`. */
  readonly param: string | null;
  /** The HTTP status. `undefined` if there was no response, and for errors inside of a stream or of a task. */
  readonly status: number | undefined;
  /** The gateway's id of the request, for support. */
  readonly requestId: string | undefined;
  /** The provider's id of the request, if it sent one. */
  readonly upstreamRequestId: string | undefined;
  /** After how many seconds a repeat may succeed, if the gateway said so. */
  readonly retryAfter: number | undefined;
  /** Whether a repeat of the same call can succeed and is not charged twice. */
  readonly shouldRetry: boolean;

  constructor(message: string, details: CalotypeErrorDetails) {
    super(message, { cause: details.cause });
    this.code = details.code;
    this.type = details.type ?? "client_error";
    this.param = details.param ?? null;
    this.status = details.status;
    this.requestId = details.requestId;
    this.upstreamRequestId = details.upstreamRequestId;
    this.retryAfter = details.retryAfter;
    this.shouldRetry = details.shouldRetry ?? false;
  }
}

const RETRIED: ReadonlySet<number> = new Set([408, 409, 429]);

/** The error of a response that is not 2xx. Reads its body. */
export async function readError(response: Response): Promise<CalotypeError> {
  const { status, headers } = response;
  const text = await response.text();
  const stated = headers.get("x-should-retry");
  return toError(parseDetails(text), {
    status,
    requestId: headers.get("x-request-id") ?? undefined,
    retryAfter: readRetryAfter(headers.get("retry-after")),
    shouldRetry: stated === null ? RETRIED.has(status) || status >= 500 : stated === "true",
  });
}

/** The error of an error body, which may be anything: a proxy may have sent it. */
export function toError(
  details: { readonly [Name in keyof Details]?: Details[Name] | undefined } | undefined,
  facts: Omit<CalotypeErrorDetails, "code">,
): CalotypeError {
  const what =
    facts.status === undefined ? "The generation failed" : `The response has the status ${facts.status}`;
  return new CalotypeError(details?.message ?? `${what}, and does not say why.`, {
    ...facts,
    code: details?.code ?? "invalid_response",
    type: details?.type,
    param: details?.param,
    upstreamRequestId: details?.upstream_request_id,
  });
}

/** The error of JSON that is not what the gateway sends. */
export function invalidResponse(message: string, cause?: unknown): CalotypeError {
  return new CalotypeError(message, { code: "invalid_response", cause });
}

function parseDetails(text: string): Partial<Details> | undefined {
  try {
    const body: { readonly error?: Partial<Details> } | null = JSON.parse(text);
    return typeof body?.error === "object" && body.error !== null ? body.error : undefined;
  } catch {
    return undefined;
  }
}

/** In seconds. A date becomes the seconds until then (RFC 9110, section 10.2.3). */
function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
