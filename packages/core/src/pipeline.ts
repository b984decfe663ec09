import { type Admission, type AdmissionParts, admit } from "./admission/admit.js";
import { renderReplay, toStoredResponse } from "./admission/idempotency.js";
import { mergeLimits } from "./admission/rate-limits.js";
import type { Slot, TakeSlot } from "./admission/slot.js";
import type { IdempotencyOutcome } from "./admission/store.js";
import type { Authenticator } from "./auth/authenticate.js";
import { toRequestBounds } from "./billing/charge.js";
import type { Delivery } from "./billing/delivery.js";
import type { Hold, HoldEnd } from "./billing/hold.js";
import { DEFAULT_GROUP } from "./billing/model-details.js";
import type { PriceList } from "./billing/pricing.js";
import { GatewayError, shownCodeOf } from "./errors.js";
import { type Arrival, type BeforeSend, createArrival, type ReportParts, RequestReport } from "./events.js";
import type { GatewayRequest, GatewayResponse } from "./http.js";
import { withDataUrlStrings } from "./images/data-url.js";
import { createTracker } from "./lifecycle.js";
import { type Logger, RequestLogger } from "./logger.js";
import type { ModelResolver } from "./models/resolve-model.js";
import type { IdempotencyOptions } from "./options/options.js";
import type { SecretMask } from "./redact.js";
import { type BodyLimits, normalizeRequest, readFields } from "./request/read-request.js";
import { checkHeaders, checkMethod, type Endpoint, idempotencyScopeOf } from "./request/route.js";
import { type Call, type CallParts, toContext } from "./responses/call.js";
import { EarlyStream } from "./responses/early-stream.js";
import { renderError, renderStream } from "./responses/envelope.js";
import { respondWithFanOut } from "./responses/fan-out.js";
import { respondWithFanOutStream } from "./responses/fan-out-stream.js";
import { respondWithJson } from "./responses/json.js";
import type { ReaderLimit } from "./responses/reader-limit.js";
import { respondWithStream } from "./responses/stream.js";
import { StreamClient } from "./responses/stream-client.js";
import type { Caller, CallerLimits, Preferences } from "./types.js";
import { dispatch, type UpstreamRefusal, type UpstreamSuccess } from "./upstream/dispatch.js";
import { isLabelledAsEvents, readContentCoding } from "./upstream/read.js";
import { isPromiseLike, type Repeat, settlesWithin } from "./util/async.js";

/** What the pipeline needs of the gateway, with one set of options. */
export interface PipelineParts extends CallParts, AdmissionParts, ReportParts {
  readonly authenticate: Authenticator;
  readonly takeSlot: TakeSlot;
  readonly resolveModel: ModelResolver;
  /** `undefined` without `billing`. */
  readonly prices: PriceList | undefined;
  /** The limits of callers that have none of their own. */
  readonly limits: CallerLimits | undefined;
  readonly idempotency: IdempotencyOptions;
  readonly delivery: Delivery;
  /** The preferences of the gateway. */
  readonly preferences: Preferences;
  readonly bodyLimits: BodyLimits;
  readonly repeat: Repeat;
  readonly beforeSend: BeforeSend | undefined;
  readonly createId: () => string;
  /** Masks our keys in errors of the gateway. */
  readonly maskKeys: SecretMask;
  /** Ends responses that their client does not read. */
  readonly readerLimit: ReaderLimit;
  /** Keeps `gateway.close()` waiting until the work is done. */
  readonly track: (work: Promise<unknown>) => void;
}

/** Handles one request, from its arrival to its response. Does not reject: a failure is a response too. */
export async function runPipeline(
  parts: PipelineParts,
  endpoint: Endpoint,
  request: GatewayRequest,
): Promise<GatewayResponse> {
  const arrival = createArrival(parts, endpoint.operation);
  const { id } = arrival;
  const report = new RequestReport(parts, arrival);
  const logger = new RequestLogger(parts.logger, id);
  const arrivedAt = parts.heartbeatMs === undefined ? 0 : performance.now();
  const work = new PendingWork((pending) => {
    parts.track(pending);
    holdHost(request, pending, logger);
  });
  const refuse = (cause: unknown): GatewayResponse =>
    renderError(report.refused(cause), { id, mask: parts.maskKeys, endpoint });

  let slot: Slot | undefined;
  let response: GatewayResponse;
  try {
    checkMethod(request, "POST");
    const found = parts.authenticate(request.headers);
    // Awaited only if it is a promise, see `Authenticator`.
    const caller = isPromiseLike(found) ? await found : found;
    report.setCaller(caller.id);
    checkHeaders(endpoint, request.headers);
    const { concurrent } = mergeLimits(caller.limits, parts.limits);
    slot = parts.takeSlot(request, { id: caller.id, concurrent });
    const entered = { arrival, report, logger, caller, slot, work, refuse };
    const admitted = await admitCall(parts, endpoint, request, entered);
    if (admitted.kind === "replay") {
      response = renderReplay(admitted.response, id);
      slot.release();
    } else {
      const served = await serveInTime(parts, admitted, request, arrivedAt);
      if (served.isEarly) {
        void served.ended.then(() => report.responded(served.response));
        return parts.readerLimit.watch(served.response);
      }
      ({ response } = served);
    }
  } catch (error) {
    slot?.release();
    response = refuse(error);
  }
  report.responded(response);
  return parts.readerLimit.watch(response);
}

/** Work of a request that the gateway and its host wait for. */
class PendingWork {
  #keep: (work: Promise<unknown>) => void;

  constructor(keep: (work: Promise<unknown>) => void) {
    this.#keep = keep;
  }

  readonly keepAlive = (work: Promise<unknown>): void => this.#keep(work);

  /** Begins to wait for all work from now on, because a host accepts no further work after the head of a response. */
  waitForAll(first: Promise<unknown>): void {
    const tracker = createTracker();
    tracker.track(first);
    this.#keep(tracker.finished());
    this.#keep = (work) => tracker.track(work);
  }
}

/** A request whose caller is known and that has a slot. */
interface EnteredRequest {
  readonly arrival: Arrival;
  readonly report: RequestReport;
  readonly logger: Logger;
  readonly caller: Caller;
  readonly slot: Slot;
  readonly work: PendingWork;
  /** Reports a failure, and returns the response to it. */
  readonly refuse: (cause: unknown) => GatewayResponse;
}

/**
 * Reads and checks a request, and sets aside what it needs. The result is a call, or the stored response to an earlier
 * request with the same idempotency key.
 *
 * @throws GatewayError if the request is refused
 */
async function admitCall(
  parts: PipelineParts,
  endpoint: Endpoint,
  request: GatewayRequest,
  entered: EnteredRequest,
): Promise<AdmittedCall | Extract<Admission, { kind: "replay" }>> {
  const { arrival, report, logger, caller, slot, work, refuse } = entered;
  const { keepAlive } = work;
  const { fields, isForm } = await readFields(request, {
    operation: endpoint.operation,
    limits: parts.bodyLimits,
    slot,
    repeat: parts.repeat,
  });
  const model = parts.resolveModel(fields["model"], caller, endpoint.operation);
  report.setModel(model.name);
  const { preferences } = parts;
  const imageRequest = normalizeRequest(fields, { endpoint, isForm, model, caller, preferences });
  const linkBase = parts.results?.findLinkBase(request, endpoint) ?? "";
  const group = caller.group ?? DEFAULT_GROUP;
  const price = parts.prices?.find(model.name, group);
  const billed = {
    ...arrival,
    caller: caller.id,
    budget: caller.budget,
    group,
    model: model.name,
    bounds: toRequestBounds(imageRequest),
    price,
  };
  const admission = await admit(parts, {
    request: imageRequest,
    caller,
    callerLimits: mergeLimits(caller.limits, parts.limits),
    model,
    billed,
    headers: request.headers,
    idempotencyScope: idempotencyScopeOf(endpoint),
    fields,
    keepAlive,
  });
  if (admission.kind === "replay") return admission;
  const call: Call = {
    id: arrival.id,
    request: imageRequest,
    model,
    hold: admission.hold,
    logger,
    keepAlive,
    keptBytes: admission.isRepeatable ? parts.idempotency.maxResponseBytes : 0,
    bytes: slot.bytes,
    report,
    linkBase,
    caller: caller.id,
  };
  return { kind: "admitted", call, caller, admission, slot, work, refuse };
}

/** A call that was admitted. */
interface AdmittedCall extends Pick<EnteredRequest, "caller" | "slot" | "work" | "refuse"> {
  readonly kind: "admitted";
  readonly call: Call;
  readonly admission: Extract<Admission, { kind: "admitted" }>;
}

/** The response to a call. `isEarly`: a stream that began before; `ended` resolves when its response is there. */
type Served =
  | { readonly isEarly: false; readonly response: GatewayResponse }
  | { readonly isEarly: true; readonly response: GatewayResponse; readonly ended: Promise<unknown> };

/** Serves a call. With `heartbeatSeconds`, a stream begins when that time is over, with or without its response. */
async function serveInTime(
  parts: PipelineParts,
  admitted: AdmittedCall,
  request: GatewayRequest,
  arrivedAt: number,
): Promise<Served> {
  const { heartbeatMs } = parts;
  const { call, admission, work } = admitted;
  if (heartbeatMs === undefined || !call.request.stream) {
    return { isEarly: false, response: await serve(parts, admitted, request) };
  }
  const client = new StreamClient(request);
  const serving = serve(parts, admitted, client);
  const leftMs = Math.max(0, arrivedAt + heartbeatMs - performance.now());
  if (await settlesWithin(serving, leftMs)) return { isEarly: false, response: await serving };
  work.waitForAll(serving);
  const response = beginEarly(serving, { heartbeatMs, client, call, admission });
  return { isEarly: true, response, ended: serving };
}

/** Keeps the host alive until the work is done. A host that accepts no work any more does not fail the request. */
export function holdHost({ waitUntil }: GatewayRequest, work: Promise<unknown>, logger: Logger): void {
  try {
    waitUntil?.(work);
  } catch (error) {
    logger.warn({ err: error }, "The host's waitUntil failed.");
  }
}

interface EarlyResponse extends Pick<AdmittedCall, "call" | "admission"> {
  readonly heartbeatMs: number;
  readonly client: StreamClient;
}

/** Begins a stream whose response is not there yet. */
function beginEarly(
  serving: Promise<GatewayResponse>,
  { heartbeatMs, client, call, admission }: EarlyResponse,
): GatewayResponse {
  const body = new EarlyStream(serving, { heartbeatMs, client, logger: call.logger });
  const head = renderStream(body, toContext(call));
  return { ...head, headers: admission.addLimits(head.headers) };
}

/** Runs an admitted call up to its response, and cleans up after it. Does not reject: a failure is a response too. */
async function serve(
  parts: PipelineParts,
  admitted: AdmittedCall,
  client: CallContext["client"],
): Promise<GatewayResponse> {
  const { call, caller, admission, slot, refuse } = admitted;
  const { hold, keepAlive } = call;
  try {
    const rendered = await runCall(parts, call, { caller, client }).catch((error: unknown) => {
      // The hold was settled or released before, unless the gateway itself failed. Then it is left to a sweep.
      hold.abandon();
      return refuse(error);
    });
    const response = { ...rendered, headers: admission.addLimits(rendered.headers) };
    return await cleanUp(parts, { response, admission, hold, slot, keepAlive });
  } catch (error) {
    slot.release();
    return refuse(error);
  }
}

interface CallContext {
  readonly caller: Caller;
  /** Tells whether the client has disconnected. */
  readonly client: Pick<GatewayRequest, "signal">;
}

/**
 * Sends an admitted call to a provider, and responds with what comes back. If the call reached a provider it is
 * settled, otherwise its hold is released. A relayed response is settled when it ends, after this function has returned.
 *
 * @throws GatewayError if there is no image
 */
async function runCall(
  parts: PipelineParts,
  call: Call,
  { caller, client }: CallContext,
): Promise<GatewayResponse> {
  const { request, model, logger, hold, report } = call;
  try {
    // After this the request costs money: a request that was sent runs to its end.
    await parts.beforeSend?.(withDataUrlStrings(request), caller);
    if (client.signal.aborted) throw new GatewayError("client_closed_request", "The client left.");
  } catch (error) {
    await hold.release();
    throw error;
  }
  if (request.upstreamCalls !== undefined) {
    return request.stream
      ? respondWithFanOutStream(parts, call, client)
      : respondWithFanOut(parts, call, client);
  }
  const result = await dispatch({ request, model, logger, client }, parts);
  report.setAttempts(result.ok ? result.sentTo.attempts : result.attempts);
  if (!result.ok) {
    await settleRefusal(hold, result);
    throw result.error;
  }
  const { endProbe } = result;
  if (endProbe !== undefined) void hold.ended.then(endProbe);
  return isCertainlyStream(call, result)
    ? respondWithStream(parts, call, result)
    : respondWithJson(parts, call, result);
}

async function settleRefusal(hold: Hold, refusal: UpstreamRefusal): Promise<void> {
  const { error, sentTo, isNothingMade } = refusal;
  if (sentTo === undefined) return hold.release();
  const { status, upstreamRequestId } = error;
  const errorCode = shownCodeOf(error);
  await hold.settle(sentTo, { status, errorCode, images: 0, upstreamRequestId, isConclusive: isNothingMade });
}

/**
 * Whether a response is relayed as events before its first byte has arrived. The first bytes of other responses are
 * read first: of those that were not requested as a stream, and of those with an unexpected content coding.
 */
function isCertainlyStream({ request, model }: Call, { response }: UpstreamSuccess): boolean {
  const { headers } = response;
  return (
    request.stream &&
    request.streamFormat !== "openai" &&
    model.family.responseShape !== undefined &&
    isLabelledAsEvents(headers) &&
    readContentCoding(headers) === undefined
  );
}

/** What is released when a call has ended. */
interface OpenCall {
  readonly response: GatewayResponse;
  readonly admission: Extract<Admission, { kind: "admitted" }>;
  readonly hold: Hold;
  readonly slot: Slot;
  readonly keepAlive: (work: Promise<unknown>) => void;
}

/**
 * Releases what a call has reserved, in this order: the hold has ended; then its admission (limits, idempotency key);
 * then its slot; then its usage record is delivered. A client that has the response can repeat the request at once.
 *
 * For a complete response this happens before it is sent, except that a large body keeps its slot until it is read. For
 * a streamed response it happens when the stream ends. The host is told now, because Next accepts no work after the
 * head of a response.
 */
async function cleanUp(
  parts: Pick<PipelineParts, "idempotency" | "delivery">,
  { response, admission, hold, slot, keepAlive }: OpenCall,
): Promise<GatewayResponse> {
  const { idempotency, delivery } = parts;
  const { isRepeatable } = admission;
  if (!isComplete(response)) {
    const ttlMs = idempotency.seconds * 1000;
    // The closures must not refer to `response`: a stream can stay open for long, and there may be many.
    const ended = hold.ended
      .then(({ isNothingMade }) =>
        admission.finish(isRepeatable && !isNothingMade ? { kind: "mark", ttlMs } : FORGET),
      )
      .then(() => {
        slot.release();
        return delivery.run();
      });
    keepAlive(ended);
    return response;
  }
  const end = await hold.ended;
  await admission.finish(isRepeatable ? toIdempotencyOutcome(end, response, idempotency) : FORGET);
  keepAlive(delivery.run());
  return releaseAfterBody(response, slot);
}

function isComplete({ body }: GatewayResponse): boolean {
  return typeof body === "string" || body instanceof Uint8Array;
}

const FORGET: IdempotencyOutcome = { kind: "forget" };

function toIdempotencyOutcome(
  { isNothingMade }: HoldEnd,
  response: GatewayResponse,
  { seconds, maxResponseBytes }: IdempotencyOptions,
): IdempotencyOutcome {
  // A repeat of the request may run.
  if (isNothingMade) return FORGET;
  const ttlMs = seconds * 1000;
  const stored = toStoredResponse(response, maxResponseBytes);
  return stored === undefined ? { kind: "mark", ttlMs } : { kind: "keep", response: stored, ttlMs };
}

/** In bytes. A smaller body is written at once, and uses little memory if its client does not read it. */
const LARGE_BODY_BYTES = 256 * 1024;

/**
 * Releases the slot when a complete body has left the gateway. For a small body this is at once. A large body becomes
 * a streamed one, whose slot is released when it was read or abandoned.
 */
export function releaseAfterBody(response: GatewayResponse, slot: Pick<Slot, "release">): GatewayResponse {
  const { headers, body } = response;
  if (typeof body !== "string" && !(body instanceof Uint8Array)) return response;
  if (body.length < LARGE_BODY_BYTES) {
    slot.release();
    return response;
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const withLength = { ...headers, "content-length": String(bytes.length) };
  return { ...response, headers: withLength, body: toSingleChunk(bytes, slot) };
}

/** Not a generator: a generator that is abandoned before its first read runs none of its code. */
function toSingleChunk(bytes: Uint8Array, slot: Pick<Slot, "release">): AsyncIterable<Uint8Array> {
  let rest: Uint8Array | undefined = bytes;
  const end = async (): Promise<IteratorResult<Uint8Array>> => {
    rest = undefined;
    slot.release();
    return { done: true, value: undefined };
  };
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        if (rest === undefined) return end();
        const value = rest;
        rest = undefined;
        return { done: false, value };
      },
      return: end,
    }),
  };
}
