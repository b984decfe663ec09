import type { Outcome } from "../billing/settled-record.js";
import type { Call, CallParts } from "../call.js";
import type { Channel } from "../channels/channel.js";
import { GatewayError, shownCodeOf } from "../errors.js";
import type { GatewayResponse } from "../http.js";
import { maskReason, type SecretMask } from "../redact.js";
import type { ImageResult } from "../types.js";
import { createReasonMask, replayResponse } from "../upstream/attempt.js";
import type { Answered } from "../upstream/dispatch.js";
import { findNoImageError } from "../upstream/failure.js";
import {
  isLabelledAsEvents,
  type JsonResponse,
  parseResponse,
  type ResponseHead,
  readContentCoding,
  readHead,
  readRequestId,
  tooLargeError,
  toReadError,
} from "../upstream/read.js";
import { type Awaitable, isPromiseLike } from "../util/promise-like.js";
import { fetchAsBase64 } from "./base64.js";
import { type BodyKind, detectBody } from "./body-kind.js";
import { renderImages, renderNative } from "./envelope.js";
import { relayResponse } from "./large.js";
import { answerStream } from "./stream.js";

/** A larger answer is relayed as it comes, where the family tells how it is read; unless it is to be kept. */
const MAX_HELD_BYTES = 64 * 1024;

/**
 * Reads a provider's JSON answer to its end, settles it, and renders it for the endpoint; one of
 * megabytes is relayed instead. One that has come with its head is answered at once.
 *
 * @throws GatewayError when no image came
 */
export function answerJson(parts: CallParts, job: Call, answered: Answered): Awaitable<GatewayResponse> {
  const { maxResponseBytes } = parts;
  const { responseShape } = job.model.family;
  const heldBytes = responseShape === undefined ? maxResponseBytes : Math.max(MAX_HELD_BYTES, job.keptBytes);
  const maxBytes = Math.min(heldBytes, maxResponseBytes);
  const context = { parts, job, answered, maxBytes };
  const isEnough = (chunks: readonly Uint8Array[]): boolean => !mayBeJson(context, detectBody(chunks));
  const head = readHead(answered.response, { maxBytes, bytes: job.bytes, isEnough });
  return isPromiseLike(head) ? answerLater(context, head) : answerHead(context, head);
}

/** What an answer is read and settled with. */
interface ResponseContext {
  readonly parts: CallParts;
  readonly job: Call;
  readonly answered: Answered;
  /** So much of the answer is held. */
  readonly maxBytes: number;
}

async function answerLater(
  context: ResponseContext,
  coming: PromiseLike<ResponseHead>,
): Promise<GatewayResponse> {
  let head: ResponseHead;
  try {
    head = await coming;
  } catch (error) {
    return conclude(context, toBroken(context, error));
  }
  return answerHead(context, head);
}

/** Whether a body of this kind is read as JSON. If the kind is unknown, the body's label decides. */
function mayBeJson({ answered }: ResponseContext, kind: BodyKind | undefined): boolean {
  const { headers } = answered.response;
  if (kind === "json" || kind === undefined) return true;
  return kind === "other" && !isLabelledAsEvents(headers) && readContentCoding(headers) === undefined;
}

function answerHead(context: ResponseContext, head: ResponseHead): Awaitable<GatewayResponse> {
  const { chunks, rest } = head;
  const { parts, job, answered, maxBytes } = context;
  const { response } = answered;
  const kind = detectBody(chunks);
  const coding = readContentCoding(response.headers);
  if (coding !== undefined && kind !== "json" && kind !== "events") return refuseCoding(context, coding);
  if (kind === "events" || (kind !== "json" && isLabelledAsEvents(response.headers))) {
    for (const { length } of chunks) job.bytes.remove(length);
    return answerStream(parts, job, { ...answered, response: replayResponse(response, chunks, rest) });
  }
  if (rest === undefined) return conclude(context, complete(context, chunks));
  const shape = job.model.family.responseShape;
  if (shape !== undefined && maxBytes < parts.maxResponseBytes) {
    return relayResponse(parts, job, answered, { shape, chunks, rest });
  }
  response.cancel();
  return conclude(context, { error: tooLargeError(maxBytes, response) });
}

/** The body is compressed although the gateway did not ask for that, so it is unknown what was made. */
function refuseCoding(context: ResponseContext, coding: string): Awaitable<GatewayResponse> {
  const { response, failedLate } = context.answered;
  response.cancel();
  const error = new GatewayError(
    "upstream_invalid_response",
    `The provider's response has the content coding ${coding}, which was not requested.`,
    { upstreamRequestId: readRequestId(response), shouldRetry: false },
  );
  failedLate({ kind: "broken", cause: error });
  return conclude(context, { error, isUnknown: true });
}

async function conclude(context: ResponseContext, completion: Completion): Promise<GatewayResponse> {
  const { job, answered } = context;
  await job.hold.settle(answered.sentTo, toOutcome(job, completion));
  return render(context, completion);
}

function toBroken({ parts, job, answered }: ResponseContext, error: unknown): Completion {
  answered.failedLate({ kind: "broken", cause: error });
  return { error: toReadError(error, parts, job, answered) };
}

/** An answer that could be read; one without an image, or with a failure, is an error that may come with usage. */
interface Understood {
  readonly text: string;
  readonly result: ImageResult;
  readonly upstreamRequestId: string | undefined;
  readonly error: GatewayError | undefined;
}

interface NotUnderstood {
  readonly result?: undefined;
  readonly error: GatewayError;
  /** True if images may have been made and their number cannot be read. */
  readonly isUnknown?: boolean;
}

type Completion = Understood | NotUnderstood;

function complete(context: ResponseContext, chunks: readonly Uint8Array[]): Completion {
  try {
    return understand(context, parseResponse(chunks, context.answered.response));
  } catch (error) {
    return toBroken(context, error);
  }
}

function understand({ parts, job, answered }: ResponseContext, { text, value }: JsonResponse): Understood {
  const read = job.model.family.fromUpstream(value, job.request);
  const hasReasons = read.errors.length > 0 || read.failure !== undefined;
  const result = hasReasons
    ? maskErrors(read, createReasonMask(parts.mask, answered.sentTo.upstreamModel, job.request))
    : read;
  const { images, errors, failure } = result;
  const upstreamRequestId = readRequestId(answered.response) ?? result.upstreamRequestId;
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

function toOutcome({ request }: Call, completion: Completion): Outcome {
  const { result, error } = completion;
  // The native endpoint passes every JSON answer on, one without an image too.
  const isAnswered = error === undefined || (result !== undefined && request.operation === "native");
  return {
    status: isAnswered ? 200 : error.status,
    errorCode: error && shownCodeOf(error),
    // Images beside a failure reach nobody where the answer is an error.
    images: isAnswered ? (result?.images.length ?? 0) : 0,
    usage: result?.usage,
    isConclusive: result !== undefined,
    isUnknown: result === undefined ? completion.isUnknown : undefined,
    upstreamRequestId: result === undefined ? error.upstreamRequestId : completion.upstreamRequestId,
  };
}

/** @throws GatewayError when no image came */
function render(
  { parts, job, answered }: ResponseContext,
  completion: Completion,
): Awaitable<GatewayResponse> {
  if (completion.result === undefined) throw completion.error;
  const { text, result, error } = completion;
  const { id, request } = job;
  if (request.operation === "native") {
    if (error !== undefined) job.report.failed(error);
    return renderNative(error === undefined ? text : parts.mask(text), { id, ignored: request.ignored });
  }
  if (error !== undefined) throw error;
  if (request.responseFormat === "b64_json") return renderAsBase64(parts, job, answered.channel, result);
  return renderResult(parts, job, result);
}

async function renderAsBase64(
  parts: CallParts,
  job: Call,
  channel: Channel,
  result: ImageResult,
): Promise<GatewayResponse> {
  const { transport } = parts;
  const fetched = await fetchAsBase64(result, channel, { transport, bytes: job.bytes });
  return renderResult(parts, job, fetched);
}

function renderResult({ now }: CallParts, { id, request }: Call, result: ImageResult): GatewayResponse {
  return renderImages(result, { id, ignored: request.ignored, now });
}
