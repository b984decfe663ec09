import type { Commit } from "../billing/commit.js";
import { type GatewayError, isGatewayError } from "../errors.js";
import { readCount } from "../families/shared.js";
import type { GatewayResponse } from "../http.js";
import type { ImageResult } from "../types.js";
import { decodeText, parseResponse } from "../upstream/read.js";
import type { TransportResponse } from "../upstream/transport.js";
import { joinChunks } from "../util/join-chunks.js";
import { toObject } from "../util/json.js";
import { toBytes } from "../util/utf8.js";
import { type Call, type CallParts, checkCharged, toContext } from "./call.js";
import { renderJson } from "./envelope.js";
import {
  addReports,
  type CallEnd,
  findRefusal,
  isMade,
  runCalls,
  settle,
  toBroken,
  toErrors,
  toOutcome,
  toRefused,
  withoutRetry,
} from "./fan-out-calls.js";
import { ImageBudget } from "./image-budget.js";
import { JsonLayout } from "./image-parts.js";
import type { Piece, PlainPiece } from "./image-stage.js";
import { NO_RESULT, renderEnd, renderFields } from "./json-reader.js";
import { Reading } from "./json-reading.js";
import { toDownloadFailure } from "./json-settlement.js";
import { isPlain } from "./pieces.js";
import { Relay } from "./relay.js";
import { WaitingImages } from "./waiting-images.js";

/**
 * Responds to a request that takes several upstream calls, because its model makes one image per call. A few calls run
 * at the same time, and each of them fails over by itself. The response has the images in the order of the calls, and
 * lists the calls without an image in `extra.errors`. The hold ends once, when all calls have ended.
 *
 * If the client disconnects, the calls that were sent run to their end and are charged. No further call is sent.
 *
 * @throws GatewayError the error of the first call if no call made an image
 */
export async function respondWithFanOut(
  parts: CallParts,
  call: Call,
  commit: Commit,
): Promise<GatewayResponse> {
  const maxHeldBytes = Math.max(parts.maxHeldImageBytes, call.keptBytes);
  const budget = new ImageBudget(maxHeldBytes);
  const ends = await runCalls(parts, call, commit, (ownCall, result) =>
    result.ok
      ? endCall(new Reading(parts, ownCall, result, { opensImages: true }), budget)
      : toRefused(result),
  );
  if (measureImages(ends) > maxHeldBytes) return sendLarge(parts, call, commit, ends);
  const error = ends.some(isMade) ? undefined : ends[0]?.error;
  const { state, isNothingMade } = await settle(call, commit, { ends, error });
  checkCharged(state);
  if (error !== undefined) throw isNothingMade ? error : withoutRetry(error);
  const refusal = findRefusal(ends);
  if (refusal !== undefined) throw refusal;
  return renderJson(await render(parts, ends), toContext(call));
}

/**
 * Reads the whole response of one call. Its images are stored while they arrive. If it breaks off, none of it is delivered or
 * charged.
 */
async function endCall(reading: Reading, budget: ImageBudget): Promise<CallEnd> {
  const { call, success, reader, staged, delivery } = reading;
  const { sentTo, response } = success;
  const images = new WaitingImages({ delivery, staged, budget, bytes: call.bytes });
  let around: Pick<ImageResult, "fields" | "created" | "extra"> | GatewayError;
  try {
    const written = await readBody(reading, images);
    around = reading.findRefusal() ?? parseAround([...written, ...reader.end([])], response);
  } catch (flaw) {
    images.discard(flaw);
    return toBroken(reading, flaw);
  }
  const { facts } = reader;
  const { made, usage, report, errors } = facts;
  const known = { made, usage, upstreamRequestId: reading.requestId, isConclusive: true };
  if (isGatewayError(around)) {
    images.discard(around);
    return { kind: "failed", sentTo, outcome: toOutcome(around, known), report, error: around };
  }
  await images.complete();
  return {
    kind: "made",
    sentTo,
    outcome: { status: 200, images: facts.images, ...known },
    report,
    result: { ...around, images: [], errors },
    waiting: images,
    refusal: delivery.errors.findRefusal(facts.images),
  };
}

/**
 * Reads a response to its end, and returns what is around its images.
 *
 * @throws GatewayError or TransportError if the response breaks off, is too large, or is not JSON
 */
async function readBody(reading: Reading, images: WaitingImages): Promise<readonly PlainPiece[]> {
  const { call, success, reader, staged } = reading;
  const { response, channel } = success;
  const around: PlainPiece[] = [];
  const take = async (pieces: readonly Piece[]): Promise<void> => {
    for (const piece of pieces) {
      // Every image is handed over, because all of them are opened.
      if (isPlain(piece)) around.push(piece);
      else await images.add(piece);
    }
  };
  const holdsAll = channel.dialect.responseShape === undefined;
  let storedBytes = 0;
  if (reading.parsed === undefined) {
    for await (const chunk of response.body) {
      call.bytes.addAnyway(chunk.length);
      const pieces = reader.push(chunk);
      await take(pieces);
      const bytes = holdsAll ? ((await staged?.early?.drain()) ?? 0) : chunk.length;
      call.bytes.remove(bytes);
      storedBytes += bytes;
    }
  }
  const pieces = reader.complete();
  if (reading.findRefusal() === undefined) await take(pieces);
  // The images are counted by themselves.
  if (holdsAll) call.bytes.remove(reader.byteLength - storedBytes);
  return around;
}

/**
 * Reads the JSON of a response whose images were taken out.
 *
 * @throws GatewayError `upstream_invalid_response` if it is not JSON
 */
function parseAround(
  pieces: readonly PlainPiece[],
  response: TransportResponse,
): Pick<ImageResult, "fields" | "created" | "extra"> {
  const { value } = parseResponse(pieces.map(toBytes), response);
  const { created, data: _images, extra, ...fields } = value;
  const { errors: _errors, ...others } = toObject(extra);
  return { fields, created: readCount(created), extra: others };
}

/** The length of the images of all calls. Infinity if one of them is read when it is sent. */
function measureImages(ends: readonly CallEnd[]): number {
  return ends.reduce((sum, end) => sum + ((isMade(end) && end.waiting?.byteLength) || 0), 0);
}

/** Sends the images of all calls in order. Some of them are read meanwhile. The calls are settled before the end. */
function sendLarge(parts: CallParts, call: Call, commit: Commit, ends: readonly CallEnd[]): GatewayResponse {
  const leaving = new AbortController();
  const isStored = ends.some((end) => isMade(end) && end.waiting?.storesWhenSent === true);
  const body = new Relay(streamImages(parts, ends, leaving.signal), {
    pass: (chunk) => [chunk],
    passEnd: () => [toBytes(renderEnd(merge(parts, ends)))],
    async onEnd(end) {
      const error = end.reason === "failed" ? toDownloadFailure(end.error) : undefined;
      if (error !== undefined) call.report.failed(error);
      const { state } = await settle(call, commit, { ends, error, status: 200 });
      if (error === undefined) checkCharged(state);
    },
    // The rest of the images must be stored, although the client has disconnected.
    onAbandoned: isStored ? (stream) => void parts.backgroundReads.start(stream) : undefined,
    cancel: () => leaving.abort(),
  });
  return renderJson(body, toContext(call));
}

/** The response up to its last image. */
async function* streamImages(
  parts: CallParts,
  ends: readonly CallEnd[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  yield toBytes(renderFields(merge(parts, ends), Math.floor(parts.now() / 1000)));
  const layout = new JsonLayout();
  for (const end of ends) if (isMade(end)) yield* end.waiting?.send(layout, signal) ?? [];
}

/** The body of `/v1`, for images that are held. */
async function render(parts: CallParts, ends: readonly CallEnd[]): Promise<string | Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  // Not a constant of the module: Workers allow no signal outside a request.
  const neverAborted = new AbortController().signal;
  for await (const chunk of streamImages(parts, ends, neverAborted)) chunks.push(chunk);
  return join([...chunks, toBytes(renderEnd(merge(parts, ends)))]);
}

/** The fields of the first call that made an image, with the reports of all calls. */
function merge({ redact }: CallParts, ends: readonly CallEnd[]): ImageResult {
  const reports = ends.flatMap((end) => (end.kind === "unreached" ? [] : (end.report ?? [])));
  const [first = NO_RESULT] = ends.filter(isMade).map(({ result }) => result);
  const usage = reports.reduce(addReports, undefined);
  return {
    ...first,
    errors: ends.flatMap((end, index) => toErrors(end, { index, redact })),
    fields: usage === undefined ? first.fields : { ...first.fields, usage },
  };
}

/** In bytes. */
const MAX_STRING_LENGTH = 1024 * 1024;

/** A short body is a string, like other JSON. */
function join(chunks: readonly Uint8Array[]): string | Uint8Array<ArrayBuffer> {
  const byteLength = chunks.reduce((sum, { length }) => sum + length, 0);
  return byteLength <= MAX_STRING_LENGTH ? decodeText(chunks) : joinChunks(chunks);
}
