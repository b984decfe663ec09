import type { Slot, TakeSlot } from "../admission/slot.js";
import type { Authenticator, FoundCaller } from "../auth/authenticate.js";
import { toRequestBounds } from "../billing/charge.js";
import type { Commit } from "../billing/commit.js";
import { DEFAULT_GROUP } from "../billing/model-details.js";
import type { PriceList } from "../billing/pricing.js";
import type { BilledRequest } from "../billing/records.js";
import { type Arrival, type BeforeSend, createArrival, type ReportParts, RequestReport } from "../events.js";
import type { GatewayRequest, GatewayResponse } from "../http.js";
import { withDataUrlStrings } from "../images/data-url.js";
import { type Logger, RequestLogger } from "../logger.js";
import type { Redaction } from "../redact.js";
import { readAttribution } from "../request/attribution.js";
import { type BodyLimits, readFields, readsForm } from "../request/read-request.js";
import { checkMethod, type Endpoint, idempotencyScopeOf } from "../request/route.js";
import { toContext } from "../responses/call.js";
import { beginEarly } from "../responses/early-stream.js";
import { renderError, renderStream } from "../responses/envelope.js";
import type { ReaderLimit } from "../responses/reader-limit.js";
import { StreamClient } from "../responses/stream-client.js";
import type { CallerLimits } from "../types.js";
import { createReferenceLoader } from "../upstream/references.js";
import { type EverySecond, isPromiseLike, settlesWithin } from "../util/async.js";
import type { JsonObject } from "../util/json.js";
import type { Admitted, Repeatable } from "./admission.js";
import { createTracker, type Tracker } from "./lifecycle.js";
import { type NormalizeParts, normalizeFields } from "./normalize-fields.js";
import { NormalizedCall, type OpenStoredJobs } from "./normalized-call.js";
import { type CallClient, type RunParts, run } from "./run.js";
import type { Submissions } from "./submissions.js";

/** What the pipeline needs of the gateway, with one set of options. */
export interface PipelineParts extends RunParts, NormalizeParts, ReportParts {
  readonly authenticate: Authenticator;
  readonly takeSlot: TakeSlot;
  /** `undefined` without `billing`. */
  readonly prices: PriceList | undefined;
  /** `undefined`: every client waits for its response. */
  readonly submissions: Submissions | undefined;
  /** `undefined`: no other process can wait for the jobs of providers. */
  readonly openStoredJobs: OpenStoredJobs | undefined;
  /** Whether responses have the header `x-calotype-charge`. */
  readonly showCharge: boolean;
  readonly bodyLimits: BodyLimits;
  readonly everySecond: EverySecond;
  readonly beforeSend: BeforeSend | undefined;
  readonly createId: () => string;
  /** Redacts our keys in errors of the gateway. */
  readonly redactKeys: Redaction;
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
  const client = new WaitingClient(parts, endpoint, request);
  const { report } = client;
  let slot: Slot | undefined;
  let response: GatewayResponse;
  try {
    checkMethod(request, "POST");
    const found = parts.authenticate(request);
    // Awaited only if it is a promise, see `Authenticator`.
    const caller = isPromiseLike(found) ? await found : found;
    report.setCaller(caller.id);
    if (endpoint.operation === "native") endpoint.checkHeaders?.(request.headers);
    const { submissions } = parts;
    const isTask = submissions?.wants(endpoint, request.headers) === true;
    const callerLimits = parts.admission?.limitsOf(caller) ?? {};
    // A task counts in the limit on concurrent requests while it runs.
    const concurrent = isTask ? undefined : callerLimits.concurrent;
    const waiting = parts.admission?.maxWaiting(callerLimits);
    slot = parts.takeSlot(request, { id: caller.id, concurrent, waiting });
    const { operation } = endpoint;
    const { bodyLimits: limits, everySecond } = parts;
    const isForm = readsForm(operation, request.headers);
    const fields = await readFields(request, { operation, isForm, limits, slot, everySecond });
    const call = client.createCall({ caller, callerLimits, slot, fields, isForm, isTask });
    if (isTask) {
      response = await submissions.submit(request, { call, endpoint, isForm, fields });
      slot.release();
    } else {
      response = await run(parts, call, client);
    }
  } catch (error) {
    slot?.release();
    response = client.refuse(error);
  }
  const { early } = client;
  if (early === undefined) report.responded(response);
  else void early.then(() => report.responded(response));
  return parts.readerLimit.watch(response, client.onLeft);
}

/** What is known of a request when its body has been read. */
interface ReadRequest {
  readonly caller: FoundCaller;
  readonly callerLimits: CallerLimits;
  readonly slot: Slot;
  readonly fields: JsonObject;
  /** True if the fields came in a form. */
  readonly isForm: boolean;
  readonly isTask: boolean;
}

/** A client whose stream may begin before its response. */
interface EarlyClient {
  readonly call: NormalizedCall;
  readonly client: StreamClient;
  readonly heartbeatMs: number;
}

/** A client that waits for the response to its request. */
class WaitingClient implements CallClient {
  readonly moment = "all";
  readonly hold = "open";
  readonly report: RequestReport;
  /** Called when the client disconnects before its response is complete. `undefined` without telemetry. */
  readonly onLeft: (() => void) | undefined;
  /** What identifies a repeat of the request, once it was read. */
  repeatable: Repeatable | undefined;
  /** The operator's function. */
  beforeSend: CallClient["beforeSend"];
  /** Set with `heartbeatSeconds`, for streams. */
  deliver: CallClient["deliver"];
  /** Set if the response is a stream that began before the call had one: resolves when the call has it. */
  early: Promise<GatewayResponse> | undefined;
  readonly #parts: PipelineParts;
  readonly #endpoint: Endpoint;
  readonly #request: GatewayRequest;
  readonly #arrival: Arrival;
  readonly #logger: Logger;
  readonly #arrivedAt: number;
  readonly #work: PendingWork;

  constructor(parts: PipelineParts, endpoint: Endpoint, request: GatewayRequest) {
    const arrival = createArrival(parts, endpoint.operation);
    this.#parts = parts;
    this.#endpoint = endpoint;
    this.#request = request;
    this.#arrival = arrival;
    this.#logger = new RequestLogger(parts.logger, arrival.id);
    this.#arrivedAt = parts.heartbeatMs === undefined ? 0 : performance.now();
    this.#work = new PendingWork(parts, request, this.#logger);
    this.report = new RequestReport(parts, arrival, { kind: "request", headers: request.headers });
    const { observer } = this.report;
    this.onLeft = observer && (() => observer.clientLeft());
    if (this.onLeft !== undefined) watchClient(request, this.onLeft);
  }

  /**
   * Checks the fields of the request and makes the call of it.
   *
   * @throws GatewayError if the request is refused
   */
  createCall({ caller, callerLimits, slot, fields, isForm, isTask }: ReadRequest): NormalizedCall {
    const parts = this.#parts;
    const { headers } = this.#request;
    const { report } = this;
    const linksOnly = isTask && parts.submissions?.linksOnly === true;
    const normalized = { endpoint: this.#endpoint, caller, fields, isForm, linksOnly, report };
    const { model, request } = normalizeFields(parts, normalized);
    report.observer?.promptKnown(request.prompt);
    const group = caller.group ?? DEFAULT_GROUP;
    const { id, receivedAt, time, operation } = this.#arrival;
    const { endUser, tags } = readAttribution(headers, fields);
    const billed: BilledRequest = {
      id,
      receivedAt,
      time,
      operation,
      endUser,
      tags,
      caller: caller.id,
      keyHint: caller.keyHint,
      budget: caller.budget,
      group,
      model: model.name,
      bounds: toRequestBounds(request),
      price: parts.prices?.find(model.name, group),
    };
    this.repeatable = { headers, scope: idempotencyScopeOf(this.#endpoint), fields };
    const { beforeSend, heartbeatMs } = parts;
    const stream = heartbeatMs !== undefined && request.stream ? new StreamClient(this.#request) : undefined;
    const call = new NormalizedCall({
      billed,
      caller,
      callerLimits,
      model,
      request,
      logger: this.#logger,
      keepAlive: this.#work.keepAlive,
      linkBase: parts.images?.findLinkBase(this.#request, this.#endpoint) ?? "",
      slot,
      client: stream ?? this.#request,
      loadReferences: createReferenceLoader({
        transport: parts.transport,
        slot,
        maxBytes: parts.bodyLimits.file,
      }),
      storedJobs: parts.openStoredJobs?.({ model, request, billed }, report.observer?.link),
      report,
    });
    this.beforeSend = beforeSend && (() => beforeSend(withDataUrlStrings(request), caller));
    if (heartbeatMs !== undefined && stream !== undefined) {
      const early = { call, client: stream, heartbeatMs };
      this.deliver = (serving, admission) => this.#beginInTime(serving, admission, early);
    }
    return call;
  }

  checkReplay(response: GatewayResponse): void {
    this.#parts.submissions?.checkReplay(response);
  }

  receive(response: GatewayResponse, commit: Commit): GatewayResponse {
    return this.#addCharge(response, commit);
  }

  fail(error: unknown, commit: Commit): GatewayResponse {
    // The call was charged or released before, unless the gateway itself failed. Then it is left to a sweep.
    if (!commit.hasRun) commit.giveUp();
    return this.#addCharge(this.refuse(error, commit), commit);
  }

  /** Begins a stream when the time of `heartbeatSeconds` is over, with or without its response. */
  async #beginInTime(
    serving: Promise<GatewayResponse>,
    admission: Admitted | undefined,
    { call, client, heartbeatMs }: EarlyClient,
  ): Promise<GatewayResponse> {
    const leftMs = Math.max(0, this.#arrivedAt + heartbeatMs - performance.now());
    // The stream of a call that waits for its limits may have begun.
    if ((await settlesWithin(serving, leftMs)) || this.early !== undefined) return serving;
    const served = serving.catch((error: unknown) => this.refuse(error));
    this.#work.waitForAll(served);
    this.early = served;
    const body = beginEarly(served, { heartbeatMs, client, logger: call.logger });
    const head = renderStream(body, toContext(call));
    return admission === undefined ? head : { ...head, headers: admission.addLimits(head.headers) };
  }

  /** Reports a failure, and returns the response to it. */
  refuse(cause: unknown, commit?: Commit): GatewayResponse {
    // A call that was charged has a usage record.
    const error = this.report.refused(cause, commit?.record === undefined ? this.#request : undefined);
    const { redactKeys } = this.#parts;
    return renderError(error, { id: this.#arrival.id, redact: redactKeys, endpoint: this.#endpoint });
  }

  /** Adds the charge, if the operator shows it and the call was charged before the response begins. */
  #addCharge(response: GatewayResponse, { record }: Commit): GatewayResponse {
    if (!this.#parts.showCharge || record === undefined || record.charge === null) return response;
    return { ...response, headers: { ...response.headers, "x-calotype-charge": record.charge } };
  }
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
  readonly #parts: Pick<PipelineParts, "track">;
  readonly #request: GatewayRequest;
  readonly #logger: Logger;
  /** Set once all work is waited for. */
  #tracker: Tracker | undefined;

  constructor(parts: Pick<PipelineParts, "track">, request: GatewayRequest, logger: Logger) {
    this.#parts = parts;
    this.#request = request;
    this.#logger = logger;
  }

  readonly keepAlive = (work: Promise<unknown>): void => {
    if (this.#tracker !== undefined) return this.#tracker.track(work);
    this.#parts.track(work);
    holdHost(this.#request, work, this.#logger);
  };

  /** Begins to wait for all work from now on, because a host accepts no further work after the head of a response. */
  waitForAll(first: Promise<unknown>): void {
    const tracker = createTracker();
    tracker.track(first);
    this.keepAlive(tracker.finished());
    this.#tracker = tracker;
  }
}

/** Keeps the host alive until the work is done. A host that accepts no work any more does not fail the request. */
export function holdHost({ waitUntil }: GatewayRequest, work: Promise<unknown>, logger: Logger): void {
  try {
    waitUntil?.(work);
  } catch (error) {
    logger.warn({ err: error }, "The host's waitUntil failed.");
  }
}
