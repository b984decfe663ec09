import type { ResponseShape } from "../answer-shape.js";
import type { ByteCount } from "../bytes/byte-count.js";
import { GatewayError, shownCodeOf } from "../errors.js";
import type { GatewayResponse } from "../exchange.js";
import { toResponseHeaders } from "../response/answer-headers.js";
import { Relay, type RelayEnding } from "../response/relay.js";
import { decodeText, readRequestId } from "../upstream/read-answer.js";
import { toReadError } from "../upstream/to-read-error.js";
import { TransportError } from "../upstream/transport.js";
import type { Answered } from "./dispatch.js";
import { fetchImages } from "./fetch-as-base64.js";
import { createReasonMask } from "./hide-upstream-model.js";
import type { Job, JobParts } from "./job.js";
import { type LargeResponseReader, readLargeResponse } from "./read-large-answer.js";

/** An answer that is not held: the chunks that came so far, and the rest. */
export interface LargeResponse {
  readonly shape: ResponseShape;
  readonly chunks: readonly Uint8Array[];
  readonly rest: AsyncIterator<Uint8Array>;
}

/**
 * Relays a JSON answer of megabytes as its bytes come, and learns from them what is to be settled. It
 * begins when an image is certain, for until then it may be an error; its end goes out once it is settled.
 *
 * @throws GatewayError when it turns out to be an error before there is an image
 */
export async function relayResponse(
  parts: JobParts,
  job: Job,
  answered: Answered,
  { shape, chunks, rest }: LargeResponse,
): Promise<GatewayResponse> {
  const { response } = answered;
  const isNative = job.request.operation === "native";
  const reader = readLargeResponse(response, {
    shape,
    model: job.model.name,
    now: Math.floor(parts.now() / 1000),
    isNative,
    maxBytes: parts.maxResponseBytes,
    mask: createReasonMask(parts.mask, answered.sentTo.upstreamModel, job.request),
    fetchLinks:
      isNative || job.request.responseFormat !== "b64_json"
        ? undefined
        : (links) => fetchImages(links, answered.channel, { transport: parts.transport, bytes: job.bytes }),
  });
  const { first, hasEnded, flaw, isRefusal } = await passUntilImage(reader, {
    chunks,
    rest,
    isNative,
    bytes: job.bytes,
  });
  if (flaw !== undefined) throw await refuse(parts, job, answered, { reader, flaw, isRefusal });
  const headers = toResponseHeaders("application/json", { id: job.id, ignored: job.request.ignored });
  if (hasEnded && isNative) {
    await settleRelayed(parts, job, answered, { reader, end: { reason: "complete" } });
    return { status: 200, headers, body: parts.mask(decodeText(first)) };
  }
  job.bytes.remove(reader.byteLength);
  const relay = new Relay(
    { [Symbol.asyncIterator]: () => rest },
    {
      first,
      pass(chunk) {
        const pieces = reader.pass(chunk);
        const late = reader.findFlaw(false);
        if (late !== undefined) throw late;
        return pieces;
      },
      passEnd: () => reader.passEnd(),
      isLast: () => reader.isLast(),
      findFlaw: () => reader.findFlaw(true) ?? (isNative ? undefined : reader.findRefusal()),
      onEnd: (end) => settleRelayed(parts, job, answered, { reader, end }),
      onAbandoned: (stream) => void parts.backgroundReads.start(stream),
      cancel: () => response.cancel(),
    },
  );
  return {
    status: 200,
    headers,
    body: relay,
    freeChunk: response.freeChunk,
  };
}

interface Beginning {
  readonly chunks: readonly Uint8Array[];
  readonly rest: AsyncIterator<Uint8Array>;
  readonly isNative: boolean;
  readonly bytes: ByteCount;
}

/** What goes on of the beginning, whether that was all, and what is wrong with the answer if it comes to that. */
interface Begun {
  readonly first: readonly Uint8Array[];
  readonly hasEnded: boolean;
  readonly flaw: unknown;
  /** True if the response is complete and `flaw` says that it has no image. */
  readonly isRefusal: boolean;
}

/**
 * Reads on until there is an image. An answer that tells of a failure is read to its end, for its usage; the
 * native endpoint passes it on.
 */
async function passUntilImage(
  reader: LargeResponseReader,
  { chunks, rest, isNative, bytes }: Beginning,
): Promise<Begun> {
  const { facts } = reader;
  const first: Uint8Array[] = [];
  let hasEnded = false;
  let flaw: unknown;
  const isCertain = (): boolean => facts.images > 0 && (isNative || facts.failure === undefined);
  try {
    for (const chunk of chunks) first.push(...(await reader.pass(chunk)));
    flaw = reader.findFlaw(false);
    while (flaw === undefined && !hasEnded && !isCertain()) {
      const { done, value } = await rest.next();
      hasEnded = done === true;
      if (done !== true) {
        bytes.addAnyway(value.length);
        first.push(...(await reader.pass(value)));
      }
      flaw = reader.findFlaw(hasEnded);
    }
  } catch (error) {
    flaw = error;
  }
  const isRefusal = hasEnded && flaw === undefined;
  if (hasEnded && !isNative) flaw ??= reader.findRefusal();
  return { first, hasEnded, flaw, isRefusal };
}

/** Settles an answer that is none, and gives the error to answer with instead. */
async function refuse(
  parts: JobParts,
  job: Job,
  answered: Answered,
  { reader, flaw, isRefusal }: Pick<Begun, "flaw" | "isRefusal"> & { readonly reader: LargeResponseReader },
): Promise<GatewayError> {
  answered.response.cancel();
  const error = toResponseError(parts, job, answered, { reader, flaw });
  await job.hold.settle(answered.sentTo, {
    status: error.status,
    errorCode: shownCodeOf(error),
    images: 0,
    usage: reader.facts.usage,
    isConclusive: isRefusal,
    upstreamRequestId: error.upstreamRequestId,
  });
  return error;
}

/** What settling needs of a job. */
export type SettledJob = Pick<Job, "id" | "hold" | "report">;

/** An answer that breaks off is of no use to the client, and is charged what the provider reported of it. */
export function settleRelayed(
  parts: JobParts,
  job: SettledJob,
  answered: Answered,
  { reader, end }: { readonly reader: LargeResponseReader; readonly end: RelayEnding },
): Promise<void> | undefined {
  const { facts } = reader;
  const error = findError(parts, job, answered, { reader, end });
  if (error !== undefined) job.report.failed(error);
  // Of one that nobody reads on no report will come.
  const seen = end.reason === "abandoned" ? { generated_images: facts.images } : undefined;
  return job.hold.settle(answered.sentTo, {
    status: 200,
    errorCode: error && shownCodeOf(error),
    images: end.reason === "failed" ? 0 : facts.images,
    usage: facts.usage ?? seen,
    isConclusive: end.reason === "complete",
    upstreamRequestId: readRequestId(answered.response) ?? facts.upstreamRequestId,
  });
}

function findError(
  parts: JobParts,
  job: SettledJob,
  answered: Answered,
  { reader, end }: { readonly reader: LargeResponseReader; readonly end: RelayEnding },
): GatewayError | undefined {
  switch (end.reason) {
    case "complete":
      // On the native endpoint an answer without an image goes on.
      return reader.findRefusal();
    case "failed":
      return toResponseError(parts, job, answered, { reader, flaw: end.error });
    case "abandoned":
      return new GatewayError("client_closed_request", "The client left, and the rest was not read.");
  }
}

/**
 * The error of an answer that is none. The channel's health is told, too; but nothing is wrong with a channel that
 * says why there is no image, or says more than the gateway allows.
 */
function toResponseError(
  parts: JobParts,
  job: SettledJob,
  answered: Answered,
  { reader, flaw }: { readonly reader: LargeResponseReader; readonly flaw: unknown },
): GatewayError {
  const error = toReadError(flaw, parts, job, answered);
  if (error.code !== "upstream_no_image" && !reader.isTooLarge) {
    answered.failedLate({ kind: flaw instanceof TransportError ? flaw.reason : "broken", cause: flaw });
  }
  return error;
}
