import { type Order, settle } from "./billing/settle.js";
import type { UsageRecord } from "./billing/usage-record.js";
import { type DispatchOutcome, type DispatchParts, dispatch } from "./dispatch.js";
import { GatewayError, isGatewayError } from "./errors.js";
import type { ImageRequest, ImageResult } from "./image-request.js";
import type { ResolvedModel } from "./routing/resolve-model.js";
import { readAnswer } from "./upstream/read-answer.js";

/** What an exchange with a provider needs of the gateway. */
export interface GenerateParts extends DispatchParts {
  readonly maxAnswerBytes: number;
  /** Hands a usage record to the operator. Never throws. */
  readonly report: (record: UsageRecord) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Sends a request to a provider and reads its answer to the end. A request that reached one leaves
 * exactly one usage record, whatever came of it.
 *
 * @throws GatewayError when no image came
 */
export async function generateImages(
  parts: GenerateParts,
  request: ImageRequest,
  model: ResolvedModel,
  order: Order,
): Promise<ImageResult> {
  const outcome = await dispatch(request, model, parts);
  const completion = await complete(outcome, request, model, parts.maxAnswerBytes);
  if (outcome.sentTo !== undefined) {
    const { result, error } = completion;
    parts.report(
      settle(order, outcome.sentTo, {
        status: error?.status ?? 200,
        errorCode: error?.upstreamCode ?? error?.code,
        images: result?.images.length ?? 0,
        usage: result?.usage,
        upstreamRequestId: error?.upstreamRequestId ?? result?.upstreamRequestId,
        endedAt: parts.now(),
      }),
    );
  }
  if (completion.error !== undefined) throw completion.error;
  return completion.result;
}

/** Images, or an error; an answer without an image is an error that may come with usage. */
type Completion =
  | { readonly result: ImageResult; readonly error?: undefined }
  | { readonly result?: ImageResult; readonly error: GatewayError };

async function complete(
  outcome: DispatchOutcome,
  request: ImageRequest,
  model: ResolvedModel,
  maxAnswerBytes: number,
): Promise<Completion> {
  if (!outcome.ok) return { error: outcome.error };
  const headerId = outcome.response.headers.get("x-request-id") ?? undefined;
  try {
    const answer = model.family.fromUpstream(await readAnswer(outcome.response, maxAnswerBytes), request);
    const result = { ...answer, upstreamRequestId: headerId ?? answer.upstreamRequestId };
    return result.images.length > 0 ? { result } : { result, error: noImageError(result) };
  } catch (error) {
    if (isGatewayError(error)) return { error };
    const message = "The provider's answer could not be read.";
    return { error: new GatewayError("internal_error", message, { cause: error, shouldRetry: false }) };
  }
}

function noImageError(result: ImageResult): GatewayError {
  const reason = result.failure ?? result.errors[0];
  return new GatewayError("upstream_no_image", reason?.message ?? "The provider answered without an image.", {
    upstreamCode: reason?.code,
    upstreamRequestId: result.upstreamRequestId,
    shouldRetry: false,
  });
}
