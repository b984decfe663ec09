import type { Answered } from "./dispatch.js";
import { GatewayError, isGatewayError, shownCodeOf } from "./errors.js";
import type { GatewayResponse } from "./exchange.js";
import { fetchAsBase64 } from "./fetch-as-base64.js";
import type { ImageResult } from "./image-request.js";
import type { Job, JobParts } from "./job.js";
import type { SecretMask } from "./mask-secrets.js";
import { renderImages } from "./response/images-response.js";
import { renderNative } from "./response/native-response.js";
import { readAnswer } from "./upstream/read-answer.js";

/**
 * Reads a provider's JSON answer to its end, settles it, and renders it for the endpoint.
 *
 * @throws GatewayError when no image came
 */
export async function answerJson(parts: JobParts, job: Job, answered: Answered): Promise<GatewayResponse> {
  const { id, request } = job;
  const { text, result, error } = await complete(parts, job, answered);
  // The native endpoint passes every JSON answer on, one without an image too.
  const passedOn = request.operation === "native" ? text : undefined;
  const isAnswered = passedOn !== undefined || error === undefined;
  const outcome = {
    status: isAnswered ? 200 : error.status,
    errorCode: error && shownCodeOf(error),
    // Images beside a failure reach nobody where the answer is an error.
    images: isAnswered ? (result?.images.length ?? 0) : 0,
    usage: result?.usage,
    upstreamRequestId: error?.upstreamRequestId ?? result?.upstreamRequestId,
  };
  await job.booking.settle(answered.sentTo, outcome);
  if (passedOn !== undefined) {
    if (error !== undefined) job.reportError(error);
    const body = error === undefined ? passedOn : parts.mask(passedOn);
    return renderNative(body, { id, ignored: request.ignored });
  }
  if (error !== undefined) throw error;
  const images =
    request.responseFormat === "b64_json"
      ? await fetchAsBase64(result, answered.channel, {
          transport: parts.transport,
          countBytes: job.countBytes,
        })
      : result;
  return renderImages(images, { id, ignored: request.ignored, now: Math.floor(parts.now() / 1000) });
}

/** An answer with images, or an error; one without an image, or with a failure, is an error that may come with usage. */
type Completion =
  | { readonly text: string; readonly result: ImageResult; readonly error?: undefined }
  | { readonly text?: string; readonly result?: ImageResult; readonly error: GatewayError };

async function complete(
  parts: JobParts,
  { id, model, request, countBytes }: Job,
  { response }: Answered,
): Promise<Completion> {
  const headerId = response.headers.get("x-request-id") ?? undefined;
  try {
    const { text, value } = await readAnswer(response, { maxBytes: parts.maxAnswerBytes, countBytes });
    const answer = maskErrors(model.family.fromUpstream(value, request), parts.mask);
    const result = { ...answer, upstreamRequestId: headerId ?? answer.upstreamRequestId };
    const isFailed = result.images.length === 0 || result.failure !== undefined;
    return isFailed ? { text, result, error: noImageError(result) } : { text, result };
  } catch (error) {
    if (isGatewayError(error)) return { error };
    parts.logger.error({ requestId: id, err: error }, "A provider's answer could not be read.");
    const message = "The provider's answer could not be read.";
    const details = { cause: error, upstreamRequestId: headerId, shouldRetry: false } as const;
    return { error: new GatewayError("internal_error", message, details) };
  }
}

/** Providers quote the key they refuse, also in answers of HTTP 200. */
function maskErrors(result: ImageResult, mask: SecretMask): ImageResult {
  const maskReason = <Reason extends { code: string; message: string }>(reason: Reason): Reason => ({
    ...reason,
    code: mask(reason.code),
    message: mask(reason.message),
  });
  return {
    ...result,
    errors: result.errors.map(maskReason),
    failure: result.failure && maskReason(result.failure),
  };
}

function noImageError(result: ImageResult): GatewayError {
  const reason = result.failure ?? result.errors[0];
  return new GatewayError("upstream_no_image", reason?.message ?? "The provider answered without an image.", {
    upstreamCode: reason?.code,
    upstreamRequestId: result.upstreamRequestId,
    shouldRetry: false,
  });
}
