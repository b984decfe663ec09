import type { Call, CallParts } from "../call.js";
import { GatewayError, shownCodeOf } from "../errors.js";
import type { ResponseShape } from "../families/family.js";
import type { GatewayResponse } from "../http.js";
import { maskReason, type SecretMask } from "../redact.js";
import { createReasonMask } from "../upstream/attempt.js";
import type { Answered } from "../upstream/dispatch.js";
import { findNoImageError } from "../upstream/failure.js";
import { decodeText, notJsonError, readRequestId, tooLargeError, toReadError } from "../upstream/read.js";
import { TransportError, type TransportResponse } from "../upstream/transport.js";
import type { ByteCount } from "../util/held-bytes.js";
import type { Awaitable } from "../util/promise-like.js";
import { type FetchedImage, fetchImages } from "./base64.js";
import { toResponseHeaders } from "./envelope.js";
import { Relay, type RelayEnding } from "./relay.js";
import {
  createResponseRewriter,
  type LinkedImage,
  type ResponseFacts,
  type RewriteOptions,
} from "./rewrite.js";

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
  parts: CallParts,
  job: Call,
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
  parts: CallParts,
  job: Call,
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
export type SettledJob = Pick<Call, "id" | "hold" | "report">;

/** An answer that breaks off is of no use to the client, and is charged what the provider reported of it. */
export function settleRelayed(
  parts: CallParts,
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
  parts: CallParts,
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
  parts: CallParts,
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

const encoder = new TextEncoder();

/** A large answer as it goes by: what goes on of it, what it says, and what is wrong with it. */
export interface LargeResponseReader {
  readonly facts: ResponseFacts;
  /** A promise only if images are downloaded first. */
  pass(chunk: Uint8Array): Awaitable<readonly Uint8Array[]>;
  passEnd(): readonly Uint8Array[];
  /** True when the answer is complete, where its last byte is the provider's own. */
  isLast(): boolean;
  /** So much has come. */
  readonly byteLength: number;
  /** Whether more has come than an answer may have. */
  readonly isTooLarge: boolean;
  /** Why it is no JSON answer that can be relayed; `undefined` where nothing is wrong so far. */
  findFlaw(hasEnded: boolean): GatewayError | undefined;
  /** What the provider made no image for, or none that counts, as far as it has said. */
  findRefusal(): GatewayError | undefined;
}

/** How one answer is read. */
export interface LargeResponseOptions extends Omit<RewriteOptions, "convertsLinks"> {
  readonly maxBytes: number;
  /** Converts images that are links. If absent, they stay links. */
  readonly fetchLinks?: ((links: readonly LinkedImage[]) => Promise<readonly FetchedImage[]>) | undefined;
  /** Takes keys out of what the provider says of failures. */
  readonly mask: SecretMask;
}

/** A reader of one answer. */
export function readLargeResponse(
  response: TransportResponse,
  { maxBytes, mask, fetchLinks, ...options }: LargeResponseOptions,
): LargeResponseReader {
  const rewriter = createResponseRewriter({
    ...options,
    shape: maskErrors(options.shape, mask),
    convertsLinks: fetchLinks !== undefined,
  });
  const { facts } = rewriter;
  let length = 0;

  const convert = async (pieces: readonly (Uint8Array | LinkedImage)[]): Promise<readonly Uint8Array[]> => {
    const fetched = (await fetchLinks?.(pieces.filter(isLinkedImage))) ?? [];
    const images = fetched.values();
    for (const { error } of fetched) if (error !== undefined) rewriter.addLinkError(error);
    return pieces.map((piece) =>
      isBytes(piece) ? piece : encoder.encode(JSON.stringify(images.next().value?.image ?? piece.image)),
    );
  };

  return {
    facts,
    get byteLength() {
      return length;
    },
    get isTooLarge() {
      return length > maxBytes;
    },
    pass(chunk) {
      length += chunk.length;
      const pieces = rewriter.push(chunk);
      return pieces.every(isBytes) ? pieces : convert(pieces);
    },
    passEnd: () => rewriter.end(),
    isLast: () => options.isNative === true && rewriter.status === "complete",
    findFlaw(hasEnded) {
      if (length > maxBytes) return tooLargeError(maxBytes, response);
      const isCut = hasEnded && rewriter.status === "open";
      return isCut || rewriter.status === "broken" ? notJsonError(response) : undefined;
    },
    findRefusal() {
      const upstreamRequestId = readRequestId(response) ?? facts.upstreamRequestId;
      return findNoImageError(facts.images, { ...facts, upstreamRequestId });
    },
  };
}

function isLinkedImage(piece: Uint8Array | LinkedImage): piece is LinkedImage {
  return !isBytes(piece);
}

function isBytes(piece: Uint8Array | LinkedImage): piece is Uint8Array {
  return piece instanceof Uint8Array;
}

function maskErrors(shape: ResponseShape, mask: SecretMask): ResponseShape {
  return {
    ...shape,
    readItem(item, index) {
      const verdict = shape.readItem(item, index);
      return verdict === "image" ? verdict : maskReason(verdict, mask);
    },
    readFailure(failure) {
      const reason = shape.readFailure(failure);
      return reason && maskReason(reason, mask);
    },
  };
}
