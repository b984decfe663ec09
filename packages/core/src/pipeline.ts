import { type Admission, type AdmissionParts, type Admitted, admit } from "./admission/admit.js";
import { renderReplay, toStoredResponse } from "./admission/idempotency.js";
import type { Pauses } from "./admission/pauses.js";
import { mergeLimits } from "./admission/rate-limits.js";
import type { Slot, TakeSlot } from "./admission/slot.js";
import type { IdempotencyOutcome } from "./admission/store.js";
import type { Authenticator } from "./auth/authenticate.js";
import { toRequestBounds } from "./billing/charge.js";
import type { Delivery } from "./billing/delivery.js";
import type { Hold, HoldEnd } from "./billing/hold.js";
import { DEFAULT_GROUP } from "./billing/model-details.js";
import type { PriceList } from "./billing/pricing.js";
import type { BilledRequest } from "./billing/records.js";
import { createCallKeeper } from "./continue-calls.js";
import { GatewayError } from "./errors.js";
import { type Arrival, type BeforeSend, createArrival, type ReportParts, RequestReport } from "./events.js";
import type { GatewayRequest, GatewayResponse } from "./http.js";
import { withDataUrlStrings } from "./images/data-url.js";
import { createTracker } from "./lifecycle.js";
import { type Logger, RequestLogger } from "./logger.js";
import type { ModelResolver, ResolvedModel } from "./models/resolve-model.js";
import type { IdempotencyOptions } from "./options/options.js";
import type { SecretMask } from "./redact.js";
import { readAttribution } from "./request/attribution.js";
import { type BodyLimits, normalizeRequest, readFields } from "./request/read-request.js";
import { checkHeaders, checkMethod, type Endpoint, idempotencyScopeOf } from "./request/route.js";
import { type Call, type CallParts, toContext } from "./responses/call.js";
import { EarlyStream } from "./responses/early-stream.js";
import { renderError, renderStream } from "./responses/envelope.js";
import type { ReaderLimit } from "./responses/reader-limit.js";
import { StreamClient } from "./responses/stream-client.js";
import { runCall } from "./run-call.js";
import { isAccepted, submitTask, submittedAsTask, type Tasks, wantsTask } from "./tasks/submit.js";
import type { Caller, CallerLimits, ImageRequest, Preferences } from "./types.js";
import { createReferenceLoader } from "./upstream/references.js";
import { isPromiseLike, type Repeat, settlesWithin } from "./util/async.js";
import type { JsonObject } from "./util/json.js";
import type { WebhookEndpoints } from "./webhooks/endpoints.js";

/** What the pipeline needs of the gateway, with one set of options. */
export interface PipelineParts extends CallParts, AdmissionParts, ReportParts {
  readonly pauses: Pauses;
  readonly authenticate: Authenticator;
  readonly takeSlot: TakeSlot;
  readonly resolveModel: ModelResolver;
  /** `undefined` without `billing`. */
  readonly prices: PriceList | undefined;
  /** The limits of callers that have none of their own. */
  readonly limits: CallerLimits | undefined;
  readonly idempotency: IdempotencyOptions;
  readonly delivery: Delivery;
  /** `undefined` if the ledger keeps no tasks. */
  readonly tasks: Tasks | undefined;
  /** Where the gateway reports the end of tasks to callers. `undefined` without the option `webhooks`. */
  readonly webhookEndpoints: WebhookEndpoints | undefined;
  /** The preferences of the gateway. */
  readonly preferences: Preferences;
  /** Whether responses have the header `x-calotype-charge`. */
  readonly showCharge: boolean;
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
  const report = new RequestReport(parts, arrival, { kind: "request", headers: request.headers });
  const logger = new RequestLogger(parts.logger, id);
  const { observer } = report;
  const onLeft = observer && (() => observer.clientLeft());
  if (onLeft !== undefined) watchClient(request, onLeft);
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
    const found = parts.authenticate(request);
    // Awaited only if it is a promise, see `Authenticator`.
    const caller = isPromiseLike(found) ? await found : found;
    report.setCaller(caller.id);
    checkHeaders(endpoint, request.headers);
    const isTask = parts.tasks !== undefined && wantsTask(endpoint, request.headers);
    const callerLimits = mergeLimits(caller.limits, parts.limits);
    // A task counts in the limit on concurrent requests while it runs.
    const concurrent = isTask ? undefined : callerLimits.concurrent;
    slot = parts.takeSlot(request, { id: caller.id, concurrent });
    const entered = { endpoint, arrival, report, logger, caller, callerLimits, slot, work, refuse };
    const read = await readCall(parts, request, { ...entered, isTask });
    if (isTask) {
      const submission = { ...entered, ...read, endpoint, keepAlive: work.keepAlive };
      response = await submitTask({ ...parts, tasks: parts.tasks }, request, submission);
      slot.release();
    } else {
      const admitted = await admitCall(parts, request, { entered, read });
      if (admitted.kind === "replay") {
        if (isAccepted(admitted.response)) throw submittedAsTask();
        response = renderReplay(admitted.response, id);
        slot.release();
      } else {
        const served = await serveInTime(parts, admitted, request, arrivedAt);
        if (served.isEarly) {
          void served.ended.then(() => report.responded(served.response));
          return parts.readerLimit.watch(served.response, onLeft);
        }
        ({ response } = served);
      }
    }
  } catch (error) {
    slot?.release();
    response = refuse(error);
  }
  report.responded(response);
  return parts.readerLimit.watch(response, onLeft);
}

/** Calls the listener when the client disconnects before its response is complete. The host may report it later, or twice. */
function watchClient(request: GatewayRequest, listener: () => void): void {
  // Refers to the request, because a Web signal follows the client only while its Request is referenced.
  request.signal.addEventListener?.("abort", () => {
    if (request.signal.aborted) listener();
  });
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
  readonly endpoint: Endpoint;
  readonly arrival: Arrival;
  readonly report: RequestReport;
  readonly logger: Logger;
  readonly caller: Caller;
  /** The caller's own limits merged with those of the gateway. */
  readonly callerLimits: CallerLimits;
  readonly slot: Slot;
  readonly work: PendingWork;
  /** Reports a failure, and returns the response to it. */
  readonly refuse: (cause: unknown) => GatewayResponse;
}

/** A request that was read and checked. */
interface ReadCall {
  /** The fields of the body, and whether they came in a form. */
  readonly fields: JsonObject;
  readonly isForm: boolean;
  readonly model: ResolvedModel;
  readonly request: ImageRequest;
  readonly billed: BilledRequest;
  readonly linkBase: string;
}

/**
 * Reads and checks a request.
 *
 * @throws GatewayError if the request is refused
 */
async function readCall(
  parts: PipelineParts,
  host: GatewayRequest,
  { endpoint, arrival, report, caller, slot, isTask }: EnteredRequest & { readonly isTask: boolean },
): Promise<ReadCall> {
  const { fields, isForm } = await readFields(host, {
    operation: endpoint.operation,
    limits: parts.bodyLimits,
    slot,
    repeat: parts.repeat,
  });
  const model = parts.resolveModel(fields["model"], caller, endpoint.operation);
  report.setModel(model.name, model.entry);
  const { preferences } = parts;
  const request = normalizeRequest(fields, {
    endpoint,
    isForm,
    model,
    caller,
    preferences,
    storesResults: parts.results !== undefined,
    linksOnly: isTask && parts.results?.objects === undefined,
  });
  report.observer?.promptKnown(request.prompt);
  const group = caller.group ?? DEFAULT_GROUP;
  const billed: BilledRequest = {
    ...arrival,
    ...readAttribution(host.headers, fields),
    caller: caller.id,
    budget: caller.budget,
    group,
    model: model.name,
    bounds: toRequestBounds(request),
    price: parts.prices?.find(model.name, group),
    observer: report.observer,
  };
  const linkBase = parts.results?.findLinkBase(host, endpoint) ?? "";
  return { fields, isForm, model, request, billed, linkBase };
}

/**
 * Checks the limits of a request, and sets aside what it needs. The result is a call, or the stored response to an earlier
 * request with the same idempotency key.
 *
 * @throws GatewayError if the request is refused
 */
async function admitCall(
  parts: PipelineParts,
  { headers }: GatewayRequest,
  { entered, read }: { readonly entered: EnteredRequest; readonly read: ReadCall },
): Promise<AdmittedCall | Extract<Admission, { kind: "replay" }>> {
  const { endpoint, arrival, report, logger, caller, callerLimits, slot, work, refuse } = entered;
  const { fields, model, request, billed, linkBase } = read;
  const { keepAlive } = work;
  const idempotencyScope = idempotencyScopeOf(endpoint);
  const limited = { request, caller, callerLimits, model, billed, headers, idempotencyScope, fields };
  const result = await admit(parts, { ...limited, keepAlive });
  if (result.kind === "replay") return result;
  const { admission, hold } = result;
  const call: Call = {
    id: arrival.id,
    request,
    model,
    hold,
    logger,
    keepAlive,
    keptBytes: admission.isRepeatable ? parts.idempotency.maxResponseBytes : 0,
    bytes: slot.bytes,
    loadReferences: createReferenceLoader({
      transport: parts.transport,
      slot,
      maxBytes: parts.bodyLimits.file,
    }),
    report,
    linkBase,
    caller: caller.id,
    taskKeeper: createCallKeeper(parts, { model, request, billed, link: report.observer?.link }),
  };
  return { kind: "admitted", call, caller, admission, slot, work, refuse };
}

/** A call that was admitted. */
interface AdmittedCall extends Pick<EnteredRequest, "caller" | "slot" | "work" | "refuse"> {
  readonly kind: "admitted";
  readonly call: Call;
  readonly admission: Admitted;
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
  client: Pick<GatewayRequest, "signal">,
): Promise<GatewayResponse> {
  const { call, caller, admission, slot, refuse } = admitted;
  const { hold, keepAlive } = call;
  try {
    const rendered = await checkAndRun(parts, call, { caller, client }).catch((error: unknown) => {
      // The hold was settled or released before, unless the gateway itself failed. Then it is left to a sweep.
      hold.abandon();
      return refuse(error);
    });
    const response = { ...rendered, headers: addCharge(parts, hold, admission.addLimits(rendered.headers)) };
    return await cleanUp(parts, { response, admission, hold, slot, keepAlive });
  } catch (error) {
    slot.release();
    return refuse(error);
  }
}

/** Adds the charge, if the operator shows it and the hold was settled before the response begins. */
function addCharge(
  { showCharge }: Pick<PipelineParts, "showCharge">,
  { charge }: Hold,
  headers: GatewayResponse["headers"],
): GatewayResponse["headers"] {
  if (!showCharge || charge === undefined || charge === null) return headers;
  return { ...headers, "x-calotype-charge": charge };
}

interface ClientOfCall {
  readonly caller: Caller;
  /** Tells whether the client has disconnected. */
  readonly client: Pick<GatewayRequest, "signal">;
}

/** Asks the operator's `beforeSend`, and runs the call. After this the request costs money, and runs to its end. */
async function checkAndRun(
  parts: PipelineParts,
  call: Call,
  { caller, client }: ClientOfCall,
): Promise<GatewayResponse> {
  try {
    await parts.beforeSend?.(withDataUrlStrings(call.request), caller);
    if (client.signal.aborted) throw new GatewayError("client_closed_request", "The client left.");
  } catch (error) {
    await call.hold.release();
    throw error;
  }
  return runCall(parts, call, client);
}

/** What is released when a call has ended. */
interface OpenCall {
  readonly response: GatewayResponse;
  readonly admission: Admitted;
  readonly hold: Hold;
  readonly slot: Slot;
  readonly keepAlive: (work: Promise<unknown>) => void;
}

/**
 * Releases what a call has reserved, in this order: the hold has ended; then its admission (limits, idempotency key);
 * then its slot; then its usage record is delivered. A client that has the response can repeat the request at once.
 *
 * For a complete response this happens before it is sent, except that a large body keeps its slot until it is read. For
 * a streamed response it happens when the stream ends. The host learns this now, because Next accepts no work after the
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
