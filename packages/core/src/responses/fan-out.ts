import { Buffer } from "node:buffer";
import { toRequestBounds } from "../billing/charge.js";
import type { Hold } from "../billing/hold.js";
import { mergeOutcomes } from "../billing/merge-outcomes.js";
import type { Outcome } from "../billing/records.js";
import { MAX_UPSTREAM_CALLS_AT_ONCE } from "../channels/channel.js";
import { GatewayError, isGatewayError, shownCodeOf } from "../errors.js";
import type { GatewayRequest, GatewayResponse } from "../http.js";
import type { SecretMask } from "../redact.js";
import type { AttemptRecord, ImageRequest, ImageResult, MadeImage, ResultError, SentTo } from "../types.js";
import { createReasonMask } from "../upstream/attempt.js";
import { dispatch, type UpstreamRefusal, type UpstreamSuccess } from "../upstream/dispatch.js";
import { findNoImageError } from "../upstream/failure.js";
import {
  contentCodingError,
  parseResponse,
  readContentCoding,
  readRequestId,
  tooLargeError,
} from "../upstream/read.js";
import { isJsonObject } from "../util/json.js";
import type { Call, CallParts } from "./call.js";
import { toResponseHeaders } from "./envelope.js";
import { fetchImages, toError } from "./json.js";
import { findMade, maskResult, renderResult } from "./json-reader.js";

/** The client of a request, as far as it decides whether more is sent. */
type Client = Pick<GatewayRequest, "signal">;

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
  const ends = await runCalls(parts, call, client);
  const error = ends.some(isMade) ? undefined : ends[0]?.error;
  await settle(call, ends, error);
  const { state, isNothingMade } = await call.hold.ended;
  // The client may have no image that is not charged.
  if (state === "unresolved") throw closedError();
  if (error !== undefined) throw isNothingMade ? error : withoutRetry(error);
  const headers = toResponseHeaders("application/json", { id: call.id, ignored: call.request.ignored });
  return { status: 200, headers, body: render(parts, ends) };
}

/** How one upstream call ended. */
type CallEnd = MadeCall | FailedCall | UnreachedCall;

/** The call made an image. */
interface MadeCall {
  readonly kind: "made";
  readonly sentTo: SentTo;
  readonly outcome: Outcome;
  /** Its images as they are delivered. */
  readonly result: ImageResult;
  readonly error?: undefined;
}

/** The call reached a provider and has no image. */
interface FailedCall {
  readonly kind: "failed";
  readonly sentTo: SentTo;
  readonly outcome: Outcome;
  /** What the provider said, if its response could be read. */
  readonly result?: ImageResult;
  readonly error: GatewayError;
}

/** The call reached no provider, or was not sent. */
interface UnreachedCall {
  readonly kind: "unreached";
  readonly attempts: readonly AttemptRecord[];
  readonly error: GatewayError;
}

function isMade(end: CallEnd): end is MadeCall {
  return end.kind === "made";
}

/** Runs all calls, a few at a time, and returns how they ended, in order. */
async function runCalls(parts: CallParts, call: Call, client: Client): Promise<readonly CallEnd[]> {
  const { upstreamCalls = 1 } = call.request;
  const signal = new StopSignal(client, call.hold);
  const ends: CallEnd[] = [];
  let next = 0;
  const runInTurn = async (): Promise<void> => {
    while (next < upstreamCalls) {
      const index = next++;
      ends[index] = signal.aborted
        ? { kind: "unreached", attempts: [], error: unsentError() }
        : await runCall(parts, { ...call, request: toRequestOf(call, index) }, { signal });
    }
  };
  const turns = Array.from({ length: MAX_UPSTREAM_CALLS_AT_ONCE }, () =>
    runInTurn().catch((error: unknown) => {
      // The gateway itself failed: no further call is sent.
      next = upstreamCalls;
      throw error;
    }),
  );
  // All calls end before the request does, because they use what it releases.
  await Promise.allSettled(turns);
  await Promise.all(turns);
  return ends;
}

/** Aborted if nothing more is to be sent: the client has disconnected, or the gateway has closed and abandoned the hold. */
class StopSignal implements Pick<AbortSignal, "aborted"> {
  readonly #client: Client;
  #hasHoldEnded = false;

  constructor(client: Client, hold: Hold) {
    this.#client = client;
    void hold.ended.then(() => this.#stop());
  }

  get aborted(): boolean {
    return this.#hasHoldEnded || this.#client.signal.aborted;
  }

  #stop(): void {
    this.#hasHoldEnded = true;
  }
}

/** The request of one call, with its own seed. */
function toRequestOf({ request, model }: Call, index: number): ImageRequest {
  const { upstreamFields } = request;
  return {
    ...toShare(request),
    upstreamFields: model.family.raiseSeed?.(upstreamFields, index) ?? upstreamFields,
  };
}

/** The request with what one call can make. */
function toShare(request: ImageRequest): ImageRequest {
  const { maxImages, maxLayers = 0, upstreamCalls = 1 } = request;
  return {
    ...request,
    upstreamCalls: undefined,
    maxImages: maxImages / upstreamCalls,
    maxLayers: maxLayers / upstreamCalls,
  };
}

async function runCall(parts: CallParts, call: Call, client: Client): Promise<CallEnd> {
  const { request, model, logger } = call;
  const result = await dispatch({ request, model, logger, client }, parts);
  if (!result.ok) return toRefused(result);
  try {
    return await readResponse(parts, call, result);
  } finally {
    result.endProbe?.();
  }
}

function toRefused({ sentTo, attempts, error, isNothingMade }: UpstreamRefusal): CallEnd {
  if (sentTo === undefined) return { kind: "unreached", attempts, error };
  return { kind: "failed", sentTo, outcome: toOutcome(error, { isConclusive: isNothingMade }), error };
}

function toOutcome(error: GatewayError, rest: Partial<Outcome>): Outcome {
  const { status, upstreamRequestId } = error;
  return { status, errorCode: shownCodeOf(error), images: 0, upstreamRequestId, ...rest };
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
  return { kind: "made", sentTo, outcome, result: await convertLinks(reading, result) };
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

/** A call whose response cannot be used. If its body is compressed, it is unknown what was made. */
function toBroken(reading: Reading, flaw: unknown): FailedCall {
  const { parts, success, reader } = reading;
  const { sentTo, response } = success;
  response.cancel();
  const isTooLarge = reader.byteLength > parts.maxResponseBytes;
  const coding = isGatewayError(flaw) && !isTooLarge ? readContentCoding(response.headers) : undefined;
  const error = toError(reading, coding === undefined ? flaw : contentCodingError(coding, response));
  return { kind: "failed", sentTo, outcome: toOutcome(error, { isUnknown: coding !== undefined }), error };
}

/** Converts images that are links to base64, if the client asked for that. What cannot be converted stays a link. */
async function convertLinks({ parts, call, success }: Reading, result: ImageResult): Promise<ImageResult> {
  if (call.request.responseFormat !== "b64_json") return result;
  const links = result.images.map((image, index) => ({ image, index }));
  const { transport } = parts;
  const fetched = await fetchImages(links, success.channel, { transport, bytes: call.bytes });
  const images = fetched.map(({ image }) => image);
  const errors = [...result.errors, ...fetched.flatMap(({ error }) => error ?? [])];
  return { ...result, images, errors };
}

/** Ends the hold: charges all calls together, or releases it if none of them reached a provider. */
async function settle(call: Call, ends: readonly CallEnd[], error: GatewayError | undefined): Promise<void> {
  const { hold, report, request } = call;
  const attempts = ends.flatMap((end, index) =>
    attemptsOf(end).map((attempt) => ({ call: index, ...attempt })),
  );
  report.setAttempts(attempts);
  const reached = ends.filter((end) => end.kind !== "unreached");
  // The record describes the call whose response or failure the client gets.
  const shown = reached.find(isMade) ?? reached[0];
  if (shown === undefined) return hold.release();
  const { channel, upstreamModel } = shown.sentTo;
  const isRepeated = reached.some(({ sentTo }) => sentTo.isRepeated);
  const outcomes = reached.map(({ outcome }) => outcome);
  await hold.settle(
    { channel, upstreamModel, attempts, isRepeated },
    {
      ...mergeOutcomes(outcomes, toRequestBounds(toShare(request))),
      status: error?.status ?? 200,
      errorCode: error && shownCodeOf(error),
      upstreamRequestId: shown.outcome.upstreamRequestId,
    },
  );
}

function attemptsOf(end: CallEnd): readonly AttemptRecord[] {
  return end.kind === "unreached" ? end.attempts : end.sentTo.attempts;
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

/** The entries of `extra.errors`. Their index is the index of the call. */
function toErrors(
  end: CallEnd,
  { index, mask }: { readonly index: number; readonly mask: SecretMask },
): readonly ResultError[] {
  if (isMade(end)) return end.result.errors.map((error) => ({ ...error, index }));
  return [{ index, code: mask(shownCodeOf(end.error)), message: mask(end.error.message) }];
}

/** Adds the numbers of two reports of usage, member by member. Of anything else the first value stays. */
function addReports(a: unknown, b: unknown): unknown {
  if (typeof a === "number" && typeof b === "number") return a + b;
  if (!isJsonObject(a) || !isJsonObject(b)) return a ?? b;
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...names].map((name) => [name, addReports(a[name], b[name])]));
}

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

function unsentError(): GatewayError {
  return new GatewayError("client_closed_request", "The client disconnected before this call was sent.");
}

/** The same code as for a single call, whose connection ends when the gateway closes. */
function closedError(): GatewayError {
  const message = "The gateway closed before all images were made, so the outcome is unknown.";
  return new GatewayError("upstream_invalid_response", message, { shouldRetry: false });
}

/** The first call made nothing, but another one may have: a repeat of the request could be charged twice. */
function withoutRetry(error: GatewayError): GatewayError {
  const { code, message, status, param, upstreamCode, upstreamRequestId, retryAfterSeconds, cause } = error;
  const details = { status, param, upstreamCode, upstreamRequestId, retryAfterSeconds, cause };
  return new GatewayError(code, message, { ...details, shouldRetry: false });
}
