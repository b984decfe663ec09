import { Buffer } from "node:buffer";
import type { Outcome } from "../billing/records.js";
import type { GatewayResponse } from "../http.js";
import type { ImageResult, MadeImage } from "../types.js";
import { createReasonMask } from "../upstream/attempt.js";
import type { UpstreamSuccess } from "../upstream/dispatch.js";
import { findNoImageError } from "../upstream/failure.js";
import { parseResponse, readRequestId, tooLargeError } from "../upstream/read.js";
import { type Call, type CallParts, checkCharged, toContext } from "./call.js";
import { toResponseHeaders } from "./envelope.js";
import {
  addReports,
  type CallEnd,
  type Client,
  findRefusal,
  isMade,
  type MadeCall,
  runCalls,
  settle,
  toBroken,
  toErrors,
  toOutcome,
  toRefused,
  withoutRetry,
} from "./fan-out-calls.js";
import { createDelivery } from "./image-delivery.js";
import { findMade, maskResult, renderResult } from "./json-reader.js";

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
  client: Client,
): Promise<GatewayResponse> {
  const ends = await runCalls(parts, call, client, (ownCall, result) =>
    result.ok ? readResponse(parts, ownCall, result) : toRefused(result),
  );
  const error = ends.some(isMade) ? undefined : ends[0]?.error;
  await settle(call, ends, error);
  await checkCharged(call.hold);
  const { isNothingMade } = await call.hold.ended;
  if (error !== undefined) throw isNothingMade ? error : withoutRetry(error);
  const refusal = findRefusal(ends);
  if (refusal !== undefined) throw refusal;
  const headers = toResponseHeaders("application/json", toContext(call));
  return { status: 200, headers, body: render(parts, ends) };
}

/** The response of one call, while it is read. */
interface Reading {
  readonly parts: CallParts;
  readonly call: Call;
  readonly success: UpstreamSuccess;
  /** What has arrived. */
  readonly reader: { byteLength: number };
}

/** Reads the whole response of one call. If it breaks off, none of it is delivered or charged. */
async function readResponse(parts: CallParts, call: Call, success: UpstreamSuccess): Promise<CallEnd> {
  const { sentTo, response } = success;
  const reading: Reading = { parts, call, success, reader: { byteLength: 0 } };
  let result: ImageResult;
  let made: readonly MadeImage[];
  try {
    result = await readResult(reading);
    made = findMade(result);
  } catch (flaw) {
    return toBroken(reading, flaw);
  }
  const { images, usage } = result;
  const upstreamRequestId = readRequestId(response) ?? result.upstreamRequestId;
  const known = { made, usage, upstreamRequestId, isConclusive: true };
  const error = findNoImageError(images.length, { ...result, upstreamRequestId });
  if (error !== undefined) {
    return { kind: "failed", sentTo, outcome: toOutcome(error, known), result, error };
  }
  const outcome: Outcome = { status: 200, images: images.length, ...known };
  return { kind: "made", sentTo, outcome, ...(await deliverImages(reading, result)) };
}

/** @throws GatewayError or TransportError if the response breaks off, is too large, or is not JSON */
async function readResult({ parts, call, success, reader }: Reading): Promise<ImageResult> {
  const { response, sentTo, parsed } = success;
  const { request, model, bytes } = call;
  const mask = createReasonMask(parts.mask, sentTo.upstreamModel, request);
  if (parsed !== undefined && parsed.text.length <= parts.maxResponseBytes) {
    bytes.addAnyway(parsed.text.length);
    return maskResult(parsed.result, mask);
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) {
    bytes.addAnyway(chunk.length);
    reader.byteLength += chunk.length;
    if (reader.byteLength > parts.maxResponseBytes) throw tooLargeError(parts.maxResponseBytes, response);
    chunks.push(chunk);
  }
  const { value } = parseResponse(chunks, response);
  return maskResult(model.family.fromUpstream(value, request), mask);
}

/** Stores the images, and converts links to base64 if the client asked for that. What cannot be converted stays a link. */
async function deliverImages(
  { parts, call, success }: Reading,
  result: ImageResult,
): Promise<Pick<MadeCall, "result" | "refusal">> {
  const delivery = createDelivery(parts, call, success.channel, false);
  const opened = result.images.map((image, index) => ({ image, index }));
  const images = (await delivery.deliverAll(opened)).filter((image) => image !== undefined);
  return {
    result: { ...result, images, errors: [...result.errors, ...delivery.errors] },
    refusal: delivery.findRefusal(opened.length),
  };
}

/** The body of `/v1`: the fields of the first call that made an image, with the images and reports of all calls. */
function render({ mask, now }: CallParts, ends: readonly CallEnd[]): string | Uint8Array<ArrayBuffer> {
  const made = ends.filter(isMade);
  const reports = ends.flatMap((end) =>
    end.kind === "unreached" ? [] : (end.result?.fields["usage"] ?? []),
  );
  const [first = EMPTY] = made.map(({ result }) => result);
  const usage = reports.reduce(addReports, undefined);
  const result: ImageResult = {
    ...first,
    images: made.flatMap(({ result: { images } }) => images),
    errors: ends.flatMap((end, index) => toErrors(end, { index, mask })),
    fields: usage === undefined ? first.fields : { ...first.fields, usage },
  };
  return join(renderResult(result, Math.floor(now() / 1000)));
}

const EMPTY: ImageResult = { images: [], errors: [], fields: {} };

const encoder = new TextEncoder();

/** In UTF-16 units. */
const MAX_STRING_LENGTH = 1024 * 1024;

/** A short body is a string, like other JSON. Images in base64 may together be longer than the longest string. */
function join(pieces: readonly string[]): string | Uint8Array<ArrayBuffer> {
  if (pieces.reduce((length, piece) => length + piece.length, 0) <= MAX_STRING_LENGTH) return pieces.join("");
  const body = new Uint8Array(pieces.reduce((length, piece) => length + Buffer.byteLength(piece), 0));
  let length = 0;
  for (const piece of pieces) length += encoder.encodeInto(piece, body.subarray(length)).written;
  return body;
}
