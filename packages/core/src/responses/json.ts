import type { Commit } from "../billing/commit.js";
import type { GatewayError } from "../errors.js";
import type { GatewayResponse } from "../http.js";
import { replayResponse } from "../upstream/attempt.js";
import { detectBody } from "../upstream/body-kind.js";
import type { UpstreamSuccess } from "../upstream/dispatch.js";
import {
  type BodyStart,
  decodeText,
  isLabelledAsEvents,
  readContentCoding,
  readStart,
} from "../upstream/read.js";
import { toBytes } from "../util/utf8.js";
import { type Call, type CallParts, toContext } from "./call.js";
import { renderJson, renderStream, toEnvelope } from "./envelope.js";
import { ImageBudget } from "./image-budget.js";
import type { Piece, PlainPiece } from "./image-stage.js";
import { OnlyReading } from "./json-reading.js";
import {
  type Ended,
  fail,
  findRelayError,
  refuseCoding,
  settle,
  settleRelayed,
  toDownloadFailure,
} from "./json-settlement.js";
import {
  closeArriving,
  deliverPieces,
  deliverSmallPieces,
  isPlain,
  isStreamedLink,
  measurePieces,
  streamPieces,
  writePieces,
} from "./pieces.js";
import { Relay } from "./relay.js";
import { respondWithStream } from "./stream.js";

/**
 * Responds with a provider's JSON response, and settles the call. A response of up to 64 KiB is held until the call is
 * settled. A longer one is relayed from its first image on; its last bytes follow when the call is settled.
 *
 * @throws GatewayError if the response has no image or is not JSON
 */
export function respondWithJson(
  parts: CallParts,
  call: Call,
  commit: Commit,
  success: UpstreamSuccess,
): Promise<GatewayResponse> {
  if (success.parsed === undefined) return respondWithBody(parts, call, commit, success);
  const reading = new OnlyReading(parts, call, commit, success);
  if (reading.parsed === undefined) return respondWithBody(parts, call, commit, success);
  call.bytes.addAnyway(reading.parsed.text.length);
  try {
    return respondWithHeld(reading, reading.reader.complete());
  } catch (flaw) {
    // A family may return something else than a result.
    return fail(reading, flaw).then((error) => Promise.reject(error));
  }
}

/** Responds with a body that has not been read. */
async function respondWithBody(
  parts: CallParts,
  call: Call,
  commit: Commit,
  success: UpstreamSuccess,
): Promise<GatewayResponse> {
  const { response } = success;
  const start = await readStart(response.body, (chunks) => detectBody(chunks) !== undefined);
  const kind = detectBody(start.chunks);
  for (const { length } of start.chunks) call.bytes.addAnyway(length);
  if (start.failure === undefined && kind !== "json") {
    const coding = readContentCoding(response.headers);
    if (coding !== undefined && kind !== "events") throw await refuseCoding(commit, success, coding);
    if (kind === "events" || isLabelledAsEvents(response.headers)) {
      for (const { length } of start.chunks) call.bytes.remove(length);
      const replayed = replayResponse(response, start.chunks);
      return respondWithStream(parts, call, commit, { ...success, response: replayed });
    }
  }
  const reading = new OnlyReading(parts, call, commit, success);
  const held = await readHeld(reading, start);
  if (held.flaw !== undefined) {
    reading.staged?.cancel(held.flaw);
    throw await fail(reading, held.flaw);
  }
  if (!held.hasEnded) return relayRest(reading, held.pieces);
  try {
    return await respondWithHeld(reading, held.pieces);
  } catch (error) {
    reading.staged?.cancel(error);
    throw error;
  }
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
async function readHeld(reading: OnlyReading, start: BodyStart): Promise<Held> {
  const { reader, isNative, maxHeldBytes, call } = reading;
  const body = reading.success.response.body[Symbol.asyncIterator]();
  const pieces: Piece[] = [];
  const mayBeRelayed = (): boolean =>
    reader.byteLength > maxHeldBytes &&
    reader.facts.images > 0 &&
    (isNative || reader.facts.failure === undefined);
  try {
    if (start.failure !== undefined) throw start.failure.error;
    for (const chunk of start.chunks) {
      pieces.push(...reader.push(chunk));
      await storeArrived(reading);
    }
    let hasEnded = start.hasEnded;
    while (!hasEnded) {
      if (mayBeRelayed()) return { pieces, hasEnded };
      const { done, value } = await body.next();
      hasEnded = done === true;
      if (done === true) break;
      call.bytes.addAnyway(value.length);
      pieces.push(...reader.push(value));
      await storeArrived(reading);
    }
    pieces.push(...reader.complete());
    return { pieces, hasEnded };
  } catch (flaw) {
    return { pieces, hasEnded: false, flaw };
  }
}

/** Waits until the stage has taken what may be an image. It is then not held any more. */
async function storeArrived({ staged, call }: OnlyReading): Promise<void> {
  if (staged !== undefined) call.bytes.remove((await staged.early?.drain()) ?? 0);
}

/**
 * The complete response. Its end arrived before anything was sent to the client. Long base64 is sent in the chunks in which it
 * arrived.
 */
async function respondWithHeld(reading: OnlyReading, pieces: readonly Piece[]): Promise<GatewayResponse> {
  const { parts, call, reader, isNative } = reading;
  const refusal = reading.findRefusal();
  // The native endpoint sends on every JSON response, also one without an image.
  if (refusal !== undefined && !isNative) {
    await settle(reading, { status: refusal.status, error: refusal, images: 0, isConclusive: true });
    throw refusal;
  }
  if (reading.events !== undefined) return sendPieces(reading, pieces);
  // Without an image to deliver nothing has to be awaited.
  const plain = pieces.every(isPlain) ? pieces : undefined;
  if (!isNative && plain === undefined && pieces.some((piece) => isStreamedLink(reading.delivery, piece))) {
    return respondWithLinks(reading, pieces);
  }
  // Only then it is known which images are held, and which are read again or lost.
  const early = reading.staged?.early;
  if (early !== undefined) await early.endAll();
  const maxBytes = Math.max(parts.maxHeldImageBytes, call.keptBytes);
  if (!isNative && measurePieces(pieces) > maxBytes && reading.delivery.forwardsBase64) {
    return sendPieces(reading, pieces);
  }
  if (refusal !== undefined) call.report.failed(refusal);
  const ended: Ended = { status: 200, error: refusal, images: reader.facts.images, isConclusive: true };
  // The record says which images were marked and stored, which is known when they have been delivered.
  const changesImages = reading.success.marks !== undefined || reading.staged !== undefined;
  const endsLater = changesImages && plain === undefined;
  if (!endsLater) await settle(reading, ended);
  const text =
    plain === undefined
      ? await renderHeld(reading, pieces, endsLater ? ended : undefined)
      : joinText([...plain, ...reader.end([])]);
  const body = refusal === undefined ? text : parts.redact(text);
  return renderJson(body, toContext(call));
}

/**
 * @param ended how the call ended, if it was not settled before
 * @throws GatewayError if every image was refused
 */
async function renderHeld(
  reading: OnlyReading,
  pieces: readonly Piece[],
  ended: Ended | undefined,
): Promise<string> {
  const { reader, isNative, staged, delivery, output } = reading;
  let delivered: readonly PlainPiece[];
  try {
    if (isNative && staged !== undefined) return await staged.rewriteJson(pieces);
    delivered = await deliverPieces(output, pieces);
  } finally {
    if (ended !== undefined) await settle(reading, ended);
  }
  const refusal = delivery.errors.findRefusal(reader.facts.images);
  if (refusal !== undefined) throw refusal;
  return joinText([...delivered, ...reader.end(delivery.errors.list)]);
}

/**
 * JSON whose images are links and become base64. If the images are small, the response is held until all of them have been
 * downloaded. Otherwise it begins, and they are downloaded while they are sent.
 */
async function respondWithLinks(reading: OnlyReading, pieces: readonly Piece[]): Promise<GatewayResponse> {
  const { parts, call, reader, delivery, output } = reading;
  const leaving = new AbortController();
  const budget = new ImageBudget(Math.max(parts.maxHeldImageBytes, call.keptBytes));
  let delivered: readonly Piece[];
  try {
    delivered = await deliverSmallPieces({ ...output, signal: leaving.signal }, pieces, budget);
  } catch (error) {
    leaving.abort();
    throw error;
  }
  if (!delivered.every(isPlain)) return sendPieces(reading, delivered, leaving);
  await settle(reading, { status: 200, error: undefined, images: reader.facts.images, isConclusive: true });
  const refused = delivery.errors.findRefusal(reader.facts.images);
  if (refused !== undefined) throw refused;
  const body = joinText([...delivered, ...reader.end(delivery.errors.list)]);
  return renderJson(body, toContext(call));
}

/**
 * Sends a complete response. Images that are links are downloaded while they are sent. The call is settled before the last
 * event ends, or the JSON.
 *
 * @param leaving aborted when nothing more is sent to the client
 */
function sendPieces(
  reading: OnlyReading,
  pieces: readonly Piece[],
  leaving = new AbortController(),
): GatewayResponse {
  const { parts, call, reader, staged, output, events } = reading;
  const body = new Relay(streamPieces({ ...output, signal: leaving.signal }, pieces), {
    pass: (chunk) => chunk,
    passEnd: () => passEnd(reading),
    onEnd(end) {
      staged?.cancel(end.reason === "failed" ? end.error : undefined);
      const error = end.reason === "failed" ? toDownloadFailure(end.error) : undefined;
      if (error !== undefined) call.report.failed(error);
      return settle(reading, { status: 200, error, images: reader.facts.images, isConclusive: true });
    },
    beat: () => events?.beat() ?? [],
    heartbeatMs: events && parts.heartbeatMs,
    // The rest of the images must be stored, although the client has disconnected.
    onAbandoned: staged ? (stream) => void parts.backgroundReads.start(stream) : undefined,
    cancel() {
      leaving.abort();
      closeArriving(pieces);
    },
  });
  if (events !== undefined) return renderStream(body, toContext(call));
  return renderJson(body, toContext(call));
}

/** The end of a response. Events whose images were refused end with an error. */
function passEnd({ reader, delivery, events, parts }: OnlyReading): readonly Uint8Array[] {
  const refusal = events && delivery.errors.findRefusal(reader.facts.images);
  const failed = refusal && events.fail(toEnvelope(refusal, parts.redact));
  return failed === undefined ? reader.end(delivery.errors.list).map(toBytes) : [toBytes(failed)];
}

/** Sends the rest of the response as it arrives. */
async function relayRest(reading: OnlyReading, pieces: readonly Piece[]): Promise<GatewayResponse> {
  const { parts, call, success, reader, isNative, events, staged } = reading;
  const { response } = success;
  const leaving = new AbortController();
  const output = { ...reading.output, signal: leaving.signal };
  let error: GatewayError | undefined;
  call.bytes.remove(reader.byteLength);
  const relay = new Relay(response.body, {
    first: await writePieces(output, pieces),
    pass: (chunk) => writePieces(output, reader.push(chunk)),
    passEnd: () => passEnd(reading),
    isLast: () => reader.isSentWhole,
    checkEnd() {
      reader.complete();
      // In events, the failure of a response with images is in the last event.
      const refusal = isNative || events !== undefined ? undefined : reading.findRefusal();
      if (refusal !== undefined) throw refusal;
    },
    onEnd(end) {
      error = findRelayError(reading, end);
      staged?.cancel(end.reason === "failed" ? end.error : undefined);
      return settleRelayed(reading, end, error);
    },
    passFailure() {
      const failed = error && events?.fail(toEnvelope(error, parts.redact));
      return failed === undefined ? undefined : toBytes(failed);
    },
    beat: () => events?.beat() ?? [],
    heartbeatMs: events && parts.heartbeatMs,
    onAbandoned: (stream) => void parts.backgroundReads.start(stream),
    cancel() {
      response.cancel();
      leaving.abort();
    },
  });
  if (events !== undefined) return renderStream(relay, toContext(call));
  return renderJson(relay, toContext(call));
}

function joinText(pieces: readonly (Uint8Array | string)[]): string {
  return pieces.every((piece) => typeof piece === "string")
    ? pieces.join("")
    : decodeText(pieces.map(toBytes));
}
