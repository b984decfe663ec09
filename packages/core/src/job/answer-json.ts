import { type GatewayError, shownCodeOf } from "../errors.js";
import type { GatewayResponse } from "../exchange.js";
import type { ImageResult } from "../image-request.js";
import { maskReason } from "../mask-reason.js";
import type { SecretMask } from "../mask-secrets.js";
import { renderImages } from "../response/images-response.js";
import { renderNative } from "../response/native-response.js";
import type { Channel } from "../routing/channel.js";
import {
  type JsonAnswer,
  parseAnswer,
  readHead,
  readRequestId,
  tooLargeError,
} from "../upstream/read-answer.js";
import { toReadError } from "../upstream/to-read-error.js";
import type { Ending } from "./booking.js";
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
    const { chunks, rest } = await readHead(response, { maxBytes, bytes: job.bytes });
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
  await job.booking.settle(answered.sentTo, toEnding(job, completion));
  return render(parts, job, answered.channel, completion);
}

/** An answer that could be read; one without an image, or with a failure, is an error that may come with usage. */
interface Understood {
  readonly text: string;
  readonly result: ImageResult;
  readonly upstreamRequestId: string | undefined;
  readonly error: GatewayError | undefined;
}

type Completion = Understood | { readonly result?: undefined; readonly error: GatewayError };

function complete(
  { mask }: JobParts,
  { model, request }: Job,
  { response }: Answered,
  { text, value }: JsonAnswer,
): Understood {
  const read = model.family.fromUpstream(value, request);
  const result = read.errors.length > 0 || read.failure !== undefined ? maskErrors(read, mask) : read;
  const { images, errors, failure } = result;
  const upstreamRequestId = readRequestId(response) ?? result.upstreamRequestId;
  const error = findNoImageError(images.length, { errors, failure, upstreamRequestId });
  return { text, result, upstreamRequestId, error };
}

function maskErrors(result: ImageResult, mask: SecretMask): ImageResult {
  return {
    ...result,
    errors: result.errors.map((error) => maskReason(error, mask)),
    failure: result.failure && maskReason(result.failure, mask),
  };
}

function toEnding({ request }: Job, completion: Completion): Ending {
  const { result, error } = completion;
  // The native endpoint passes every JSON answer on, one without an image too.
  const isAnswered = error === undefined || (result !== undefined && request.operation === "native");
  return {
    status: isAnswered ? 200 : error.status,
    errorCode: error && shownCodeOf(error),
    // Images beside a failure reach nobody where the answer is an error.
    images: isAnswered ? (result?.images.length ?? 0) : 0,
    usage: result?.usage,
    upstreamRequestId: result === undefined ? error.upstreamRequestId : completion.upstreamRequestId,
  };
}

/** @throws GatewayError when no image came */
function render(
  parts: JobParts,
  job: Job,
  channel: Channel,
  completion: Completion,
): GatewayResponse | Promise<GatewayResponse> {
  if (completion.result === undefined) throw completion.error;
  const { text, result, error } = completion;
  const { id, request } = job;
  if (request.operation === "native") {
    if (error !== undefined) job.report.failed(error);
    return renderNative(error === undefined ? text : parts.mask(text), { id, ignored: request.ignored });
  }
  if (error !== undefined) throw error;
  if (request.responseFormat === "b64_json") return renderAsBase64(parts, job, channel, result);
  return renderResult(parts, job, result);
}

async function renderAsBase64(
  parts: JobParts,
  job: Job,
  channel: Channel,
  result: ImageResult,
): Promise<GatewayResponse> {
  const { transport } = parts;
  const fetched = await fetchAsBase64(result, channel, { transport, bytes: job.bytes });
  return renderResult(parts, job, fetched);
}

function renderResult({ now }: JobParts, { id, request }: Job, result: ImageResult): GatewayResponse {
  return renderImages(result, { id, ignored: request.ignored, now: Math.floor(now() / 1000) });
}
