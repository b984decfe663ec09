import { GatewayError } from "./errors.js";
import type { ResultError } from "./image-request.js";

interface Reason {
  readonly code: string;
  readonly message: string;
}

/** What an answer without an image says of itself. */
interface AnswerWithoutImage {
  readonly failure?: Reason | undefined;
  readonly errors: readonly ResultError[];
  readonly upstreamRequestId?: string | undefined;
}

/** The error of an answer of success that holds no image, or one that tells of a failure: in the provider's words. */
export function noImageError({ failure, errors, upstreamRequestId }: AnswerWithoutImage): GatewayError {
  const reason = failure ?? errors[0];
  return new GatewayError("upstream_no_image", reason?.message ?? "The provider answered without an image.", {
    upstreamCode: reason?.code,
    upstreamRequestId,
    shouldRetry: false,
  });
}
