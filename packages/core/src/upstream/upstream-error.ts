import { type ErrorCode, GatewayError } from "../errors.js";
import type { AttemptFailure } from "../families/family.js";
import type { FailureReason } from "../types.js";

interface Rendering {
  readonly code: ErrorCode;
  /** For the client, when the provider gave no message. */
  readonly message: string;
  /** False when a repeat could be charged twice or cannot help. */
  readonly repeatable: boolean;
}

const RENDERINGS: Readonly<Record<AttemptFailure["kind"], Rendering>> = {
  model: {
    code: "upstream_rejected",
    message: "The provider does not serve this model at the moment.",
    repeatable: true,
  },
  content: { code: "upstream_rejected", message: "The provider refused the request.", repeatable: true },
  credential: {
    code: "upstream_authentication_failed",
    message:
      "No channel of this model is accepted by its provider at the moment. The operator has been told.",
    repeatable: false,
  },
  rate: { code: "upstream_rate_limited", message: "The provider's rate limit is reached.", repeatable: true },
  quota: {
    code: "upstream_quota_exceeded",
    message: "The provider account's quota is used up.",
    repeatable: false,
  },
  overload: { code: "upstream_error", message: "The provider is overloaded.", repeatable: true },
  server: { code: "upstream_error", message: "The provider failed.", repeatable: false },
  unreachable: { code: "upstream_unreachable", message: "The provider cannot be reached.", repeatable: true },
  timeout: { code: "upstream_timeout", message: "The provider did not answer in time.", repeatable: false },
  broken: {
    code: "upstream_invalid_response",
    message: "The provider's answer broke off.",
    repeatable: false,
  },
};

const DEFAULT_RETRY_AFTER_SECONDS = 5;

/**
 * The error that a client sees for a failed attempt. The provider's code and message are kept, but
 * for a refused key, which is the operator's affair.
 */
export function toUpstreamError(failure: AttemptFailure): GatewayError {
  const { code, message, repeatable } = RENDERINGS[failure.kind];
  const ours = failure.kind === "credential";
  const waits = failure.kind === "rate";
  return new GatewayError(code, ours ? message : (failure.message ?? message), {
    status: findStatus(failure),
    upstreamCode: ours ? undefined : failure.code,
    param: ours ? undefined : failure.param,
    upstreamRequestId: failure.requestId,
    upstreamBody: ours ? undefined : failure.body,
    retryAfterSeconds: waits
      ? (failure.retryAfterSeconds ?? DEFAULT_RETRY_AFTER_SECONDS)
      : failure.retryAfterSeconds,
    shouldRetry: repeatable ? undefined : false,
    cause: failure.cause,
  });
}

/** A refusal of the request or of the model keeps the provider's status if that is a 4xx. */
function findStatus({ kind, status = 0 }: AttemptFailure): number | undefined {
  const isKept = (kind === "content" || kind === "model") && status >= 400 && status < 500;
  if (isKept) return status;
  return kind === "model" ? 404 : undefined;
}

/** What an answer of success says beside its images. */
interface ResponseSaid {
  readonly failure?: FailureReason | undefined;
  /** The reasons why images failed; the first one is used. */
  readonly errors: readonly FailureReason[];
  readonly upstreamRequestId?: string | undefined;
}

/**
 * The error of an answer of success that holds no image, or one that tells of a failure: in the provider's words.
 * `undefined` where it is an answer.
 */
export function findNoImageError(
  images: number,
  { failure, errors, upstreamRequestId }: ResponseSaid,
): GatewayError | undefined {
  if (images > 0 && failure === undefined) return undefined;
  const reason = failure ?? errors[0];
  return new GatewayError("upstream_no_image", reason?.message ?? "The provider answered without an image.", {
    upstreamCode: reason?.code,
    upstreamRequestId,
    shouldRetry: false,
  });
}
