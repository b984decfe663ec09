import type { AnswerShape } from "./answer-shape.js";
import type { Answered } from "./dispatch.js";
import { GatewayError, isGatewayError, shownCodeOf } from "./errors.js";
import type { GatewayResponse } from "./exchange.js";
import type { Job, JobParts } from "./job.js";
import { type LargeAnswerReader, readLargeAnswer } from "./read-large-answer.js";
import { toAnswerHeaders } from "./response/answer-headers.js";
import { Relay, type RelayEnding, toIterator } from "./response/relay.js";
import { readRequestId } from "./upstream/read-answer.js";
import { TransportError } from "./upstream/transport.js";
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
 * @throws GatewayError when it turns out to be an error before there is an image
 */
export async function relayAnswer(
  parts: JobParts,
  job: Job,
  answered: Answered,
  { shape, chunks, rest }: LargeAnswer,
): Promise<GatewayResponse> {
  const { response } = answered;
  const reader = readLargeAnswer(response, {
    shape,
    model: job.model.name,
    now: Math.floor(parts.now() / 1000),
    isNative: job.request.operation === "native",
    maxBytes: parts.maxAnswerBytes,
    mask: parts.mask,
  });
  const first = chunks.flatMap((chunk) => reader.pass(chunk));
  const flaw = await passUntilImage(reader, { first, rest, countBytes: job.countBytes });
  if (flaw !== undefined) throw await refuse(job, answered, reader, flaw);
  const relay = new Relay(
    { [Symbol.asyncIterator]: () => rest },
    {
      first,
      pass(chunk) {
        const passed = reader.pass(chunk);
        // The next read fails.
        if (reader.findFlaw(false) !== undefined) response.cancel();
        return passed;
      },
      passEnd: () => reader.passEnd(),
      findFlaw: () => reader.findFlaw(true),
      onEnd: (end) => settleRelayed(job, answered, reader, end),
      onAbandoned: (stream) => void parts.backgroundReads.start(stream),
      cancel: response.cancel,
    },
  );
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

interface Beginning {
  /** What goes on; added to. */
  readonly first: Uint8Array[];
  readonly rest: AsyncIterator<Uint8Array>;
  readonly countBytes: (bytes: number) => void;
}

/** Reads on until there is an image, and gives what is wrong with the answer if it comes to that. */
async function passUntilImage(
  reader: LargeAnswerReader,
  { first, rest, countBytes }: Beginning,
): Promise<unknown> {
  let flaw: unknown = reader.findFlaw(false);
  let hasEnded = false;
  while (flaw === undefined && !hasEnded && reader.facts.images === 0) {
    try {
      const { done, value } = await rest.next();
      hasEnded = done === true;
      if (done !== true) {
        countBytes(value.length);
        first.push(...reader.pass(value));
      }
      flaw = reader.findFlaw(hasEnded);
    } catch (error) {
      flaw = error;
    }
  }
  return flaw;
}

/** Settles an answer that is none, and gives the error to answer with instead. */
async function refuse(
  job: Job,
  answered: Answered,
  { facts }: LargeAnswerReader,
  flaw: unknown,
): Promise<GatewayError> {
  answered.response.cancel();
  const error = toAnswerError(flaw, answered);
  const { status, upstreamRequestId } = error;
  await job.booking.settle(answered.sentTo, {
    status,
    errorCode: shownCodeOf(error),
    images: 0,
    usage: facts.usage,
    upstreamRequestId,
  });
  return error;
}

/** An answer that breaks off is of no use to the client, and is charged what the provider reported of it. */
function settleRelayed(
  job: Job,
  answered: Answered,
  reader: LargeAnswerReader,
  end: RelayEnding,
): Promise<void> {
  const { facts } = reader;
  const error = findError(end, reader, answered);
  if (error !== undefined) job.reportError(error);
  // Of one that nobody reads on no report will come.
  const seen = end.reason === "abandoned" ? { generated_images: facts.images } : undefined;
  return job.booking.settle(answered.sentTo, {
    status: 200,
    errorCode: error && shownCodeOf(error),
    images: end.reason === "failed" ? 0 : facts.images,
    usage: facts.usage ?? seen,
    upstreamRequestId: readRequestId(answered.response) ?? facts.upstreamRequestId,
  });
}

function findError(
  end: RelayEnding,
  reader: LargeAnswerReader,
  answered: Answered,
): GatewayError | undefined {
  switch (end.reason) {
    case "complete":
      return undefined;
    case "failed":
      // What was wrong with the answer ended it, and not the connection.
      return toAnswerError(reader.findFlaw(false) ?? end.error, answered);
    case "abandoned":
      return new GatewayError("client_closed_request", "The client left, and the rest was not read.");
  }
}

/** The error of an answer that is none; the channel's health is told, too, unless the provider itself says why. */
function toAnswerError(flaw: unknown, { response, failedLate }: Answered): GatewayError {
  const kind = flaw instanceof TransportError ? flaw.reason : "broken";
  const error = isGatewayError(flaw)
    ? flaw
    : toUpstreamError({ kind, cause: flaw, requestId: readRequestId(response) });
  if (error.code !== "upstream_no_image") failedLate({ kind, cause: flaw });
  return error;
}
