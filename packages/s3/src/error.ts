/** What a response or a failed request says about an error. */
export interface S3ErrorFields {
  readonly operation: string;
  readonly status?: number | undefined;
  readonly code?: string | undefined;
  readonly requestId?: string | undefined;
  readonly cause?: unknown;
}

/** The service refused a request, failed, or did not respond. The message names the operation and never a secret. */
export class S3Error extends Error {
  override readonly name = "S3Error";
  /** The name of the operation in the API of S3, such as `PutObject`. */
  readonly operation: string;
  /** The HTTP status. `undefined`: there was no complete response. 200: `CompleteMultipartUpload` failed in its body. */
  readonly status: number | undefined;
  /** The code in the service's error document, such as `AccessDenied`. */
  readonly code: string | undefined;
  /** The service's id of the request, for its support. */
  readonly requestId: string | undefined;

  constructor(message: string, { operation, status, code, requestId, cause }: S3ErrorFields) {
    super(`${operation}: ${message}`, cause === undefined ? undefined : { cause });
    this.operation = operation;
    this.status = status;
    this.code = code;
    this.requestId = requestId;
  }
}

/** Codes of errors that a repeat of the request may not meet. They matter in a response with the status 200. */
const TRANSIENT_CODES: ReadonlySet<string | undefined> = new Set([
  "InternalError",
  "RequestTimeout",
  "ServiceUnavailable",
  "SlowDown",
  "ThrottlingException",
]);

/** True if a repeat may succeed: there was no response, or the service was overloaded or failed. */
export function isTransient({ status, code }: S3Error): boolean {
  if (status === undefined || status === 429) return true;
  if (status >= 500) return status !== 501;
  return status < 300 && TRANSIENT_CODES.has(code);
}

/** True if the service may have carried out the request. A 3xx and a 4xx say that it did not. */
export function isUncertain({ status }: S3Error): boolean {
  return status === undefined || status < 300 || status >= 500;
}
