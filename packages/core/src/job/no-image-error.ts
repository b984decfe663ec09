import { GatewayError } from "../errors.js";
import type { FailureReason } from "../image-request.js";

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
