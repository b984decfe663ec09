import { GatewayError, shownCodeOf } from "../errors.js";
import type { GatewayResponse } from "../http.js";
import { createReasonMask, type ParsedResponse, replayResponse } from "../upstream/attempt.js";
import { type BodyKind, detectBody } from "../upstream/body-kind.js";
import type { UpstreamSuccess } from "../upstream/dispatch.js";
import { DownloadError } from "../upstream/download.js";
import { findNoImageError } from "../upstream/failure.js";
import {
  contentCodingError,
  decodeText,
  isLabelledAsEvents,
  readContentCoding,
  readRequestId,
  tooLargeError,
  toReadError,
} from "../upstream/read.js";
import { TransportError } from "../upstream/transport.js";
import type { Awaitable } from "../util/async.js";
import { type Call, type CallParts, checkCharged, toContext } from "./call.js";
import { renderStream, toEnvelope, toResponseHeaders } from "./envelope.js";
import { createDelivery, type ImageDelivery } from "./image-delivery.js";
import { EventLayout, JsonLayout } from "./image-parts.js";
import { type JsonReader, type Piece, ScanningReader, WholeReader } from "./json-reader.js";
import { OpenAiEvents } from "./openai-events.js";
import {
  deliverPieces,
  encodePiece,
  isPlain,
  type PieceOutput,
  replaceImages,
  streamPieces,
  writePieces,
} from "./pieces.js";
import { Relay, type RelayEnding } from "./relay.js";
import { respondWithStream } from "./stream.js";

/** A longer response is relayed as it arrives, unless it is stored for a repeat of the request. */
const MAX_HELD_BYTES = 64 * 1024;

/**
 * Responds with a provider's JSON response, and settles the call. A response of up to 64 KiB is held until the call is
 * settled. A longer one is relayed from its first image on; its last bytes follow when the call is settled.
 *
 * @throws GatewayError if the response has no image or is not JSON
 */
export async function respondWithJson(
  parts: CallParts,
  call: Call,
  success: UpstreamSuccess,
): Promise<GatewayResponse> {
  const { response, parsed } = success;
  if (parsed !== undefined && parsed.text.length <= parts.maxResponseBytes) {
    call.bytes.addAnyway(parsed.text.length);
    const reading = createReading(parts, call, success, parsed);
    let pieces: readonly Piece[];
    try {
      pieces = reading.reader.complete();
    } catch (flaw) {
      // A family may return something else than a result.
      throw await fail(reading, flaw);
    }
    return respondWithHeld(reading, pieces);
  }
  const body = response.body[Symbol.asyncIterator]();
  const start = await readStart(body);
  for (const { length } of start.chunks) call.bytes.addAnyway(length);
  if (!start.hasFailed && start.kind !== "json") {
    const coding = readContentCoding(response.headers);
    if (coding !== undefined && start.kind !== "events") throw await refuseCoding(call, success, coding);
    if (start.kind === "events" || isLabelledAsEvents(response.headers)) {
      for (const { length } of start.chunks) call.bytes.remove(length);
      const replayed = replayResponse(response, start.chunks, body);
      return respondWithStream(parts, call, { ...success, response: replayed });
    }
  }
  const reading = createReading(parts, call, success);
  const held = await readHeld(reading, start, body);
  if (held.flaw !== undefined) throw await fail(reading, held.flaw);
  return held.hasEnded ? respondWithHeld(reading, held.pieces) : relayRest(reading, held.pieces, body);
}

/** The first chunks of a body, up to the one that tells its kind. */
interface BodyStart {
  readonly chunks: readonly Uint8Array[];
  /** `undefined` if the body ended or failed before it told. */
  readonly kind: BodyKind | undefined;
  readonly hasEnded: boolean;
  readonly hasFailed: boolean;
  readonly error?: unknown;
}

async function readStart(body: AsyncIterator<Uint8Array>): Promise<BodyStart> {
  const chunks: Uint8Array[] = [];
  let kind: BodyKind | undefined;
  try {
    while (kind === undefined) {
      const { done, value } = await body.next();
      if (done === true) return { chunks, kind, hasEnded: true, hasFailed: false };
      chunks.push(value);
      kind = detectBody(chunks);
    }
    return { chunks, kind, hasEnded: false, hasFailed: false };
  } catch (error) {
    return { chunks, kind, hasEnded: true, hasFailed: true, error };
  }
}

/** A JSON response that is being read. */
interface Reading {
  readonly parts: CallParts;
  readonly call: Call;
  readonly success: UpstreamSuccess;
  readonly reader: JsonReader;
  readonly isNative: boolean;
  /** Writes the response as the events of OpenAI's images API. `undefined`: it is JSON. */
  readonly events: OpenAiEvents | undefined;
  /** What of the response is held. Infinity if its family can only read a whole response. */
  readonly maxHeldBytes: number;
  readonly delivery: ImageDelivery;
  /** How its pieces are written. */
  readonly output: PieceOutput;
}

/** @param parsed the response, if it was parsed before */
function createReading(
  parts: CallParts,
  call: Call,
  success: UpstreamSuccess,
  parsed?: ParsedResponse,
): Reading {
  const { request } = call;
  const isNative = request.operation === "native";
  const isEvents = request.stream && request.streamFormat === "openai";
  const events = isEvents ? new OpenAiEvents(request.operation, Math.floor(parts.now() / 1000)) : undefined;
  const delivery = createDelivery(parts, call, success.channel, isNative);
  const reader = openReader(parts, call, success, { parsed, events, opensImages: delivery.opensImages });
  return {
    parts,
    call,
    success,
    reader,
    isNative,
    events,
    maxHeldBytes: findMaxHeldBytes(call, events, delivery),
    delivery,
    output: {
      delivery,
      isNative,
      events,
      layout: events === undefined ? new JsonLayout() : new EventLayout(events, () => true),
    },
  };
}

/**
 * A family that can only read whole responses needs all of it. So does the operator's function in JSON: if it refuses every
 * image, the response is an error.
 */
function findMaxHeldBytes(
  { model, keptBytes }: Call,
  events: OpenAiEvents | undefined,
  { holdsImages }: ImageDelivery,
): number {
  const mayBeError = holdsImages && events === undefined;
  if (model.family.responseShape === undefined || mayBeError) return Infinity;
  return Math.max(MAX_HELD_BYTES, events === undefined ? keptBytes : 0);
}

/** What {@link openReader} needs besides the call and its response. */
export interface OpenReaderOptions {
  /** The response, if it was parsed before. */
  readonly parsed?: ParsedResponse | undefined;
  /** Writes the events of OpenAI's images API. `undefined`: the response is JSON. */
  readonly events?: OpenAiEvents | undefined;
  /** True if every image is handed over to be stored. */
  readonly opensImages: boolean;
}

/** Opens a reader for the response of a provider. */
export function openReader(
  { mask, now }: Pick<CallParts, "mask" | "now">,
  { request, model }: Pick<Call, "request" | "model">,
  { response, sentTo }: UpstreamSuccess,
  { parsed, events, opensImages }: OpenReaderOptions,
): JsonReader {
  const { family } = model;
  const isNative = request.operation === "native";
  const options = {
    response,
    now: Math.floor(now() / 1000),
    isNative,
    events,
    opensImages,
    convertsLinks: !isNative && request.responseFormat === "b64_json",
    mask: createReasonMask(mask, sentTo.upstreamModel, request),
  };
  const shape = family.responseShape;
  return shape === undefined || parsed !== undefined
    ? new WholeReader(family, request, options, parsed)
    : new ScanningReader(shape, model.name, options);
}

/** What was read before anything is sent to the client. */
interface Held {
  readonly pieces: readonly Piece[];
  readonly hasEnded: boolean;
  /** Why the response cannot be sent to the client. */
  readonly flaw?: unknown;
}

/**
 * Reads until the response has ended, or is longer than what is held and certain to have an image. A response that
 * reports a failure is read to its end, because it may report usage.
 */
async function readHeld(reading: Reading, start: BodyStart, body: AsyncIterator<Uint8Array>): Promise<Held> {
  const { reader, isNative, maxHeldBytes, call } = reading;
  const pieces: Piece[] = [];
  const mayBeRelayed = (): boolean =>
    reader.byteLength > maxHeldBytes &&
    reader.facts.images > 0 &&
    (isNative || reader.facts.failure === undefined);
  try {
    if (start.hasFailed) throw start.error;
    for (const chunk of start.chunks) pieces.push(...push(reading, chunk));
    let hasEnded = start.hasEnded;
    while (!hasEnded) {
      if (mayBeRelayed()) return { pieces, hasEnded };
      const { done, value } = await body.next();
      hasEnded = done === true;
      if (done === true) break;
      call.bytes.addAnyway(value.length);
      pieces.push(...push(reading, value));
    }
    pieces.push(...reader.complete());
    return { pieces, hasEnded };
  } catch (flaw) {
    return { pieces, hasEnded: false, flaw };
  }
}

/** @throws GatewayError `upstream_invalid_response` if the body is not JSON, or larger than the gateway accepts */
function push({ reader, parts, success }: Reading, chunk: Uint8Array): readonly Piece[] {
  const pieces = reader.push(chunk);
  if (reader.byteLength > parts.maxResponseBytes)
    throw tooLargeError(parts.maxResponseBytes, success.response);
  return pieces;
}

/** The complete response. Its end arrived before anything was sent to the client. */
async function respondWithHeld(reading: Reading, pieces: readonly Piece[]): Promise<GatewayResponse> {
  const { parts, call, reader, isNative } = reading;
  const refusal = findRefusal(reading);
  // The native endpoint sends on every JSON response, also one without an image.
  if (refusal !== undefined && !isNative) {
    await settle(reading, { status: refusal.status, error: refusal, images: 0, isConclusive: true });
    throw refusal;
  }
  if (reading.events !== undefined) return sendEvents(reading, pieces);
  if (refusal !== undefined) call.report.failed(refusal);
  await settle(reading, { status: 200, error: refusal, images: reader.facts.images, isConclusive: true });
  // Without an image to deliver nothing has to be awaited.
  const text = pieces.every(isPlain)
    ? joinText([...pieces, ...reader.end([])])
    : await renderHeld(reading, pieces);
  const body = refusal === undefined ? text : parts.mask(text);
  return { status: 200, headers: toResponseHeaders("application/json", toContext(call)), body };
}

/** @throws GatewayError if the operator refused every image */
async function renderHeld(reading: Reading, pieces: readonly Piece[]): Promise<string> {
  const { reader, isNative, delivery, output } = reading;
  if (isNative) return replaceImages(delivery, pieces);
  const delivered = await deliverPieces(output, pieces);
  const refusal = delivery.findRefusal(reader.facts.images);
  if (refusal !== undefined) throw refusal;
  return joinText([...delivered, ...reader.end(delivery.errors)]);
}

/**
 * Sends the events of a complete response. Images that are links are downloaded while they are sent. The call is settled
 * before its last event ends.
 */
function sendEvents(reading: Reading, pieces: readonly Piece[]): GatewayResponse {
  const { parts, call, reader, delivery, output, events } = reading;
  const leaving = new AbortController();
  const body = new Relay(streamPieces({ ...output, signal: leaving.signal }, pieces), {
    pass: (chunk) => [chunk],
    passEnd: () => passEnd(reading),
    onEnd(end) {
      delivery.cancel(end.reason === "failed" ? end.error : undefined);
      const error = end.reason === "failed" ? toDownloadFailure(end.error) : undefined;
      if (error !== undefined) call.report.failed(error);
      return settle(reading, { status: 200, error, images: reader.facts.images, isConclusive: true });
    },
    beat: () => events?.beat() ?? [],
    heartbeatMs: parts.heartbeatMs,
    // The rest of the images must be stored, although the client has disconnected.
    onAbandoned: delivery.opensImages ? (stream) => void parts.backgroundReads.start(stream) : undefined,
    cancel: () => leaving.abort(),
  });
  return renderStream(body, toContext(call));
}

/** The end of a response. Events without an image end with the error of the operator's function. */
function passEnd({ reader, delivery, events, parts }: Reading): readonly Uint8Array[] {
  const refusal = events && delivery.findRefusal(reader.facts.images);
  const failed = refusal && events.fail(toEnvelope(refusal, parts.mask));
  return failed === undefined ? reader.end(delivery.errors).map(encodePiece) : [encodePiece(failed)];
}

/** The image was made and its download broke off. */
function toDownloadFailure(cause: unknown): GatewayError {
  const message = cause instanceof DownloadError ? cause.message : "The image could not be sent.";
  return new GatewayError("upstream_invalid_response", message, { cause, shouldRetry: false });
}

/** Sends the rest of the response as it arrives. */
async function relayRest(
  reading: Reading,
  pieces: readonly Piece[],
  body: AsyncIterator<Uint8Array>,
): Promise<GatewayResponse> {
  const { parts, call, success, reader, isNative, events, delivery } = reading;
  const { response } = success;
  let error: GatewayError | undefined;
  call.bytes.remove(reader.byteLength);
  const relay = new Relay(
    { [Symbol.asyncIterator]: () => body },
    {
      first: await toBytes(reading, pieces),
      pass: (chunk) => toBytes(reading, push(reading, chunk)),
      passEnd: () => passEnd(reading),
      isLast: () => reader.isSentWhole,
      checkEnd() {
        reader.complete();
        // In events, the failure of a response with images is in the last event.
        const refusal = isNative || events !== undefined ? undefined : findRefusal(reading);
        if (refusal !== undefined) throw refusal;
      },
      onEnd(end) {
        error = findRelayError(reading, end);
        delivery.cancel(end.reason === "failed" ? end.error : undefined);
        return settleRelayed(reading, end, error);
      },
      passFailure() {
        const failed = error && events?.fail(toEnvelope(error, parts.mask));
        return failed === undefined ? undefined : encodePiece(failed);
      },
      beat: () => events?.beat() ?? [],
      heartbeatMs: events && parts.heartbeatMs,
      onAbandoned: (stream) => void parts.backgroundReads.start(stream),
      cancel: () => response.cancel(),
    },
  );
  if (events !== undefined) return renderStream(relay, toContext(call));
  return { status: 200, headers: toResponseHeaders("application/json", toContext(call)), body: relay };
}

/**
 * Settles a response of which a part was sent. If it broke off, what the provider reported of it is charged. A client can
 * use none of the images in JSON that broke off, but each event that is complete.
 */
function settleRelayed(reading: Reading, end: RelayEnding, error: GatewayError | undefined): Promise<void> {
  const { call, reader, events } = reading;
  const { facts } = reader;
  if (error !== undefined) call.report.failed(error);
  const usable = events === undefined ? 0 : facts.made.length;
  const images = end.reason === "failed" ? usable : facts.images;
  return settle(reading, {
    status: 200,
    error,
    images,
    // The rest is missing, so the usage at its end is not known.
    usage: end.reason === "complete" || images === 0 ? undefined : { generated_images: images },
    isConclusive: end.reason === "complete",
  });
}

function findRelayError(reading: Reading, end: RelayEnding): GatewayError | undefined {
  switch (end.reason) {
    case "complete":
      return findRefusal(reading);
    case "failed":
      return toError(reading, end.error);
    case "abandoned":
      return new GatewayError("client_closed_request", "The client left, and the rest was not read.");
  }
}

/** The error of a complete response that has no image or reports a failure. */
function findRefusal({ reader, success }: Reading): GatewayError | undefined {
  const upstreamRequestId = readRequestId(success.response) ?? reader.facts.upstreamRequestId;
  return findNoImageError(reader.facts.images, { ...reader.facts, upstreamRequestId });
}

/**
 * Settles a response that cannot be sent to the client, and returns the error to respond with. Nothing is charged for
 * incomplete JSON, even if its usage has arrived.
 */
async function fail(reading: Reading, flaw: unknown): Promise<GatewayError> {
  reading.success.response.cancel();
  const error = toError(reading, flaw);
  await settle(reading, { status: error.status, error, images: 0, isIncomplete: true, isConclusive: false });
  return error;
}

/** What {@link toError} needs of a reading. */
export type FailedReading = Pick<Reading, "parts" | "success"> & {
  readonly call: Pick<Call, "id">;
  readonly reader: Pick<JsonReader, "byteLength">;
};

/**
 * Converts what went wrong into the error for the client, and reports it to the channel's health. A channel is not to
 * blame for a response that says why it has no image, or that is larger than the gateway accepts.
 */
export function toError({ parts, call, success, reader }: FailedReading, flaw: unknown): GatewayError {
  const error = toReadError(flaw, parts, call, success);
  if (error.code !== "upstream_no_image" && reader.byteLength <= parts.maxResponseBytes) {
    success.fail({ kind: flaw instanceof TransportError ? flaw.reason : "broken", cause: flaw });
  }
  return error;
}

/** The body is compressed although the gateway did not ask for that. */
async function refuseCoding(call: Call, success: UpstreamSuccess, coding: string): Promise<GatewayError> {
  const { response, sentTo } = success;
  response.cancel();
  const error = contentCodingError(coding, response);
  success.fail({ kind: "broken", cause: error });
  const { status, upstreamRequestId } = error;
  const errorCode = shownCodeOf(error);
  await call.hold.settle(sentTo, { status, errorCode, images: 0, upstreamRequestId, isUnknown: true });
  return error;
}

interface Ended {
  readonly status: number;
  readonly error: GatewayError | undefined;
  /** The images that the client gets. */
  readonly images: number;
  /** The usage if the provider reported none. */
  readonly usage?: { readonly generated_images: number } | undefined;
  /** True if the usage that the provider reported does not count. */
  readonly isIncomplete?: boolean;
  readonly isConclusive: boolean;
}

/** @throws GatewayError if the response succeeded, and the gateway has closed and given the call up */
async function settle({ call, success, reader }: Reading, ended: Ended): Promise<void> {
  const { status, error, images, usage, isIncomplete = false, isConclusive } = ended;
  await call.hold.settle(success.sentTo, {
    status,
    errorCode: error && shownCodeOf(error),
    images,
    made: reader.facts.made,
    usage: isIncomplete ? undefined : (reader.facts.usage ?? usage),
    isConclusive,
    upstreamRequestId: readRequestId(success.response) ?? reader.facts.upstreamRequestId,
  });
  if (error === undefined) await checkCharged(call.hold);
}

function toBytes(reading: Reading, pieces: readonly Piece[]): Awaitable<readonly Uint8Array[]> {
  return writePieces(reading.output, pieces);
}

function joinText(pieces: readonly (Uint8Array | string)[]): string {
  return pieces.every((piece) => typeof piece === "string")
    ? pieces.join("")
    : decodeText(pieces.map(encodePiece));
}
