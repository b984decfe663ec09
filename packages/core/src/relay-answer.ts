import type { AnswerShape } from "./answer-shape.js";
import type { Answered } from "./dispatch.js";
import { GatewayError, shownCodeOf } from "./errors.js";
import type { GatewayResponse } from "./exchange.js";
import type { Job, JobParts } from "./job.js";
import type { SecretMask } from "./mask-secrets.js";
import { noImageError } from "./no-image-error.js";
import { toAnswerHeaders } from "./response/answer-headers.js";
import type { AnswerFacts } from "./response/read-facts.js";
import { Relay, type RelayEnding, toIterator } from "./response/relay.js";
import { type AnswerRewriter, createAnswerRewriter } from "./response/rewrite-answer.js";
import { TransportError, type TransportResponse } from "./upstream/transport.js";
import { toUpstreamError } from "./upstream/upstream-error.js";

/** An answer that is not held: the chunks that came so far, and the rest. */
export interface LargeAnswer {
  readonly shape: AnswerShape;
  readonly chunks: readonly Uint8Array[];
  readonly rest: AsyncIterator<Uint8Array>;
}

/**
 * Relays a JSON answer of megabytes as its bytes come, and learns from them what is to be settled. It
 * begins when an image is certain, for until then it may be an error; its end goes out once it is settled.
 *
 * @throws GatewayError when it ends before there is an image
 */
export async function relayAnswer(
  parts: JobParts,
  job: Job,
  answered: Answered,
  answer: LargeAnswer,
): Promise<GatewayResponse> {
  const rewriter = createAnswerRewriter({
    shape: maskErrors(answer.shape, parts.mask),
    model: job.model.name,
    now: Math.floor(parts.now() / 1000),
    isNative: job.request.operation === "native",
  });
  const first = await passUntilImage(rewriter, job, answered, answer);
  const relay = createRelay(parts, job, answered, { rewriter, answer, first });
  return {
    status: 200,
    headers: {
      "content-type": "application/json",
      ...toAnswerHeaders({ id: job.id, ignored: job.request.ignored }),
    },
    body: toIterator(
      () => relay.take(),
      () => relay.leave(),
    ),
  };
}

const NO_JSON = "The answer is no whole JSON object.";

/** What goes on of the chunks up to the first image; of an answer without one only the native endpoint's. */
async function passUntilImage(
  rewriter: AnswerRewriter,
  job: Job,
  { response, sentTo, failedLate }: Answered,
  { chunks, rest }: LargeAnswer,
): Promise<readonly Uint8Array[]> {
  const passed = chunks.flatMap((chunk) => rewriter.push(chunk));
  const isNative = job.request.operation === "native";
  let error: GatewayError | undefined;
  try {
    while (rewriter.facts.images === 0 && rewriter.status === "open") {
      const { done, value } = await rest.next();
      if (done === true) break;
      job.countBytes(value.length);
      passed.push(...rewriter.push(value));
    }
  } catch (cause) {
    error = toAnswerError(cause, response);
    failedLate({ kind: kindOf(cause), cause });
  }
  const isAnswer = rewriter.facts.images > 0 || (isNative && rewriter.status === "complete");
  if (isAnswer && rewriter.status !== "broken") return passed;
  response.cancel();
  if (rewriter.status !== "complete") error ??= toAnswerError(new Error(NO_JSON), response);
  error ??= noImageError({
    ...rewriter.facts,
    upstreamRequestId: readRequestId(response) ?? rewriter.facts.upstreamRequestId,
  });
  const { status, upstreamRequestId } = error;
  const { usage } = rewriter.facts;
  await job.booking.settle(sentTo, {
    status,
    errorCode: shownCodeOf(error),
    images: 0,
    usage,
    upstreamRequestId,
  });
  throw error;
}

interface RelayedAnswer {
  readonly rewriter: AnswerRewriter;
  readonly answer: LargeAnswer;
  readonly first: readonly Uint8Array[];
}

function createRelay(
  parts: JobParts,
  job: Job,
  answered: Answered,
  { rewriter, answer, first }: RelayedAnswer,
): Relay {
  const { cancel } = answered.response;
  let length = 0;
  return new Relay(
    { [Symbol.asyncIterator]: () => answer.rest },
    {
      first,
      pass(chunk) {
        length += chunk.length;
        // The next read fails.
        if (length > parts.maxAnswerBytes) cancel();
        return rewriter.push(chunk);
      },
      passEnd: () => rewriter.end(),
      findFlaw: () => (rewriter.status === "complete" ? undefined : new Error(NO_JSON)),
      onEnd: (end) => settleRelayed(job, answered, rewriter, end),
      onAbandoned: (stream) => void parts.backgroundReads.start(stream),
      cancel,
    },
  );
}

/** An answer that breaks off is of no use to the client, and is charged what the provider reported of it. */
function settleRelayed(
  job: Job,
  answered: Answered,
  { facts }: AnswerRewriter,
  end: RelayEnding,
): Promise<void> {
  const { sentTo, response } = answered;
  const error = findError(end, facts, response);
  if (end.reason === "failed") answered.failedLate({ kind: kindOf(end.error), cause: end.error });
  if (error !== undefined) job.reportError(error);
  const isWhole = end.reason !== "failed" && facts.failure === undefined;
  // Of one that nobody reads on no report will come.
  const seen = end.reason === "abandoned" ? { generated_images: facts.images } : undefined;
  return job.booking.settle(sentTo, {
    status: 200,
    errorCode: error && shownCodeOf(error),
    images: isWhole ? facts.images : 0,
    usage: facts.usage ?? seen,
    upstreamRequestId: readRequestId(response) ?? facts.upstreamRequestId,
  });
}

function findError(
  end: RelayEnding,
  facts: AnswerFacts,
  response: TransportResponse,
): GatewayError | undefined {
  if (end.reason === "failed") return toAnswerError(end.error, response);
  if (facts.failure !== undefined || facts.images === 0) {
    return noImageError({ ...facts, upstreamRequestId: readRequestId(response) ?? facts.upstreamRequestId });
  }
  if (end.reason === "complete") return undefined;
  return new GatewayError(
    "client_closed_request",
    "The client left, and the rest of the answer was not read.",
  );
}

function toAnswerError(cause: unknown, response: TransportResponse): GatewayError {
  return toUpstreamError({ kind: kindOf(cause), cause, requestId: readRequestId(response) });
}

function kindOf(cause: unknown): TransportError["reason"] {
  return cause instanceof TransportError ? cause.reason : "broken";
}

function readRequestId({ headers }: TransportResponse): string | undefined {
  return headers.get("x-request-id") ?? undefined;
}

/** Providers quote the key they refuse, also in answers of HTTP 200. */
function maskErrors(shape: AnswerShape, mask: SecretMask): AnswerShape {
  const maskReason = <R extends { readonly code: string; readonly message: string }>(reason: R): R => ({
    ...reason,
    code: mask(reason.code),
    message: mask(reason.message),
  });
  return {
    ...shape,
    readItem(item, index) {
      const verdict = shape.readItem(item, index);
      return verdict === "image" ? verdict : maskReason(verdict);
    },
    readFailure(failure) {
      const reason = shape.readFailure(failure);
      return reason && maskReason(reason);
    },
  };
}
