import { type GatewayError, shownCodeOf } from "../errors.js";
import type { GatewayResponse } from "../exchange.js";
import type { ImageResult } from "../image-request.js";
import { maskReason } from "../mask-reason.js";
import type { SecretMask } from "../mask-secrets.js";
import { renderImages } from "../response/images-response.js";
import { renderNative } from "../response/native-response.js";
import {
  type JsonAnswer,
  parseAnswer,
  readHead,
  readRequestId,
  tooLargeError,
} from "../upstream/read-answer.js";
import { toReadError } from "../upstream/to-read-error.js";
import type { Answered } from "./dispatch.js";
import { fetchAsBase64 } from "./fetch-as-base64.js";
import type { Job, JobParts } from "./job.js";
import { findNoImageError } from "./no-image-error.js";
import { relayAnswer } from "./relay-answer.js";

/** A larger answer is relayed as it comes, where the family tells how it is read; unless it is to be kept. */
const MAX_HELD_BYTES = 64 * 1024;

/**
 * Reads a provider's JSON answer to its end, settles it, and renders it for the endpoint; one of
 * megabytes is relayed instead.
 *
 * @throws GatewayError when no image came
 */
export async function answerJson(parts: JobParts, job: Job, answered: Answered): Promise<GatewayResponse> {
  const { maxAnswerBytes } = parts;
  const { response } = answered;
  const shape = job.model.family.answerShape;
  const heldBytes = shape === undefined ? maxAnswerBytes : Math.max(MAX_HELD_BYTES, job.keptBytes);
  const maxBytes = Math.min(heldBytes, maxAnswerBytes);
  let completion: Completion;
  try {
    const { chunks, rest } = await readHead(response, { maxBytes, countBytes: job.countBytes });
    if (rest === undefined) completion = complete(parts, job, answered, parseAnswer(chunks, response));
    else if (shape !== undefined && maxBytes < maxAnswerBytes) {
      return relayAnswer(parts, job, answered, { shape, chunks, rest });
    } else {
      response.cancel();
      completion = { error: tooLargeError(maxBytes, response) };
    }
  } catch (error) {
    completion = { error: toReadError(error, parts, job, answered) };
    answered.failedLate({ kind: "broken", cause: error });
  }
  return answerWhole(parts, job, answered, completion);
}

async function answerWhole(
  parts: JobParts,
  job: Job,
  answered: Answered,
  { text, result, error }: Completion,
): Promise<GatewayResponse> {
  const { id, request } = job;
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

function complete(
  { mask }: JobParts,
  { model, request }: Job,
  { response }: Answered,
  { text, value }: JsonAnswer,
): Completion {
  const read = model.family.fromUpstream(value, request);
  const answer = read.errors.length > 0 || read.failure !== undefined ? maskErrors(read, mask) : read;
  const result = { ...answer, upstreamRequestId: readRequestId(response) ?? answer.upstreamRequestId };
  const error = findNoImageError(result.images.length, result);
  return error === undefined ? { text, result } : { text, result, error };
}

function maskErrors(result: ImageResult, mask: SecretMask): ImageResult {
  return {
    ...result,
    errors: result.errors.map((error) => maskReason(error, mask)),
    failure: result.failure && maskReason(result.failure, mask),
  };
}
