import { type Admission, type AdmissionParts, admit } from "./admission/admit.js";
import { renderReplay, toStoredResponse } from "./admission/idempotency.js";
import { mergeLimits } from "./admission/rate-limits.js";
import type { Slot, TakeSlot } from "./admission/slot.js";
import type { IdempotencyOutcome } from "./admission/store.js";
import type { Authenticator } from "./auth/authenticate.js";
import type { Delivery } from "./billing/delivery.js";
import type { HoldEnd } from "./billing/hold.js";
import { DEFAULT_GROUP, type PriceList } from "./billing/pricing.js";
import type { Call, CallParts } from "./call.js";
import { GatewayError, shownCodeOf } from "./errors.js";
import {
  type BeforeSend,
  createArrival,
  createRequestReport,
  type ReportParts,
  type RequestReport,
} from "./events.js";
import type { GatewayRequest, GatewayResponse } from "./http.js";
import { withDataUrlStrings } from "./images/data-url.js";
import { type Logger, withFields } from "./logger.js";
import type { ModelResolver } from "./models/resolve-model.js";
import type { IdempotencyOptions } from "./options/options.js";
import { type BodyLimits, normalizeRequest, readFields } from "./request/read-request.js";
import { afterBody } from "./responses/after-body.js";
import { answerJson } from "./responses/json.js";
import type { ReaderLimit } from "./responses/reader-limit.js";
import { answerStream } from "./responses/stream.js";
import type { Caller, CallerLimits, Operation, ResponseFormat } from "./types.js";
import { type Answered, dispatch, type FailedDispatch } from "./upstream/dispatch.js";
import { isLabelledAsEvents, readContentCoding } from "./upstream/read.js";
import { isPromiseLike } from "./util/promise-like.js";
import type { Repeat } from "./util/timers.js";

/** What the pipeline is wired from, once for each set of options. */
export interface PipelineParts extends CallParts, AdmissionParts, ReportParts {
  readonly authenticate: Authenticator;
  readonly takeSlot: TakeSlot;
  readonly resolveModel: ModelResolver;
  /** `undefined` without `billing`. */
  readonly prices: PriceList | undefined;
  /** What each caller may do, unless its own limits say otherwise. */
  readonly limits: CallerLimits | undefined;
  readonly idempotency: IdempotencyOptions;
  readonly delivery: Delivery;
  readonly responseFormat: ResponseFormat | undefined;
  readonly bodyLimits: BodyLimits;
  readonly repeat: Repeat;
  readonly beforeSend: BeforeSend | undefined;
  readonly createId: () => string;
  /** Ends responses that their client does not read. */
  readonly readerLimit: ReaderLimit;
  /** Holds `gateway.close()` until the work is done. */
  readonly track: (work: Promise<unknown>) => void;
}

/** One request from its arrival to its answer. Never rejects: every failure is an answer. */
export async function runPipeline(
  parts: PipelineParts,
  operation: Operation,
  request: GatewayRequest,
): Promise<GatewayResponse> {
  const arrival = createArrival(parts, operation);
  const report = createRequestReport(parts, arrival);
  let slot: Slot | undefined;
  let response: GatewayResponse;
  try {
    checkMethod(request.method);
    const found = parts.authenticate(request.headers);
    const caller = isPromiseLike(found) ? await found : found;
    report.isFrom(caller.id);
    const callerLimits = mergeLimits(caller.limits, parts.limits);
    slot = parts.takeSlot(request, { id: caller.id, concurrent: callerLimits.concurrent });
    const { bodyLimits: limits, repeat } = parts;
    const fields = await readFields(request, { operation, limits, slot, repeat });
    const model = parts.resolveModel(fields["model"], caller, operation);
    report.isFor(model.name);
    const { responseFormat } = parts;
    const imageRequest = normalizeRequest(fields, { operation, model, caller, responseFormat });
    const group = caller.group ?? DEFAULT_GROUP;
    const price = parts.prices?.find(model.name, group);
    const { headers } = request;
    const { id, receivedAt, time } = arrival;
    const logger = withFields(parts.logger, { requestId: id });
    const keepAlive = (work: Promise<unknown>): void => {
      parts.track(work);
      holdHost(request, work, logger);
    };
    const { maxImages, maxPixels } = imageRequest;
    const billed = {
      id,
      receivedAt,
      time,
      operation,
      caller: caller.id,
      budget: caller.budget,
      group,
      model: model.name,
      bounds: { maxImages, maxPixels },
      price,
    };
    const applicant = {
      request: imageRequest,
      caller,
      callerLimits,
      model,
      billed,
      headers,
      fields,
      keepAlive,
    };
    const admission = await admit(parts, applicant);
    if (admission.kind === "replay") {
      response = renderReplay(admission.response, id);
      slot.release();
    } else {
      const job = {
        id,
        request: imageRequest,
        model,
        hold: admission.hold,
        logger,
        keepAlive,
        keptBytes: admission.isRepeatable ? parts.idempotency.maxResponseBytes : 0,
        bytes: slot.bytes,
        report,
      };
      response = await runAdmitted(parts, { job, admission, slot, caller, request, report });
    }
  } catch (error) {
    slot?.release();
    response = report.fail(error);
  }
  report.answered(response);
  return parts.readerLimit.watch(response);
}

/** A host that takes no work any more must not fail what is done already. */
export function holdHost({ waitUntil }: GatewayRequest, work: Promise<unknown>, logger: Logger): void {
  try {
    waitUntil?.(work);
  } catch (error) {
    logger.warn({ err: error }, "The host's waitUntil failed.");
  }
}

function checkMethod(method: string): void {
  if (method === "POST") return;
  throw new GatewayError("method_not_allowed", `${method} is not allowed here: send POST.`, {
    headers: { allow: "POST" },
  });
}

/** What the end of a job needs of the gateway beside what the job needs. */
interface AdmittedParts extends CallParts {
  readonly beforeSend: BeforeSend | undefined;
  readonly idempotency: IdempotencyOptions;
  readonly delivery: Delivery;
}

/** A job that was let through, and what it holds until it is over. */
interface AdmittedJob {
  readonly job: Call;
  readonly admission: Extract<Admission, { kind: "admitted" }>;
  readonly slot: Slot;
  readonly caller: Caller;
  /** Whose signal tells whether the client is still there. */
  readonly request: Pick<GatewayRequest, "signal">;
  readonly report: RequestReport;
}

/**
 * Runs a job to its answer, which may be an error, and gives back what it holds when it is over: with its answer, or
 * where that is a stream with the end of it. Never rejects.
 */
async function runAdmitted(parts: AdmittedParts, admitted: AdmittedJob): Promise<GatewayResponse> {
  const { job, admission, slot, request, report } = admitted;
  let answer: GatewayResponse;
  try {
    if (parts.beforeSend !== undefined || request.signal.aborted) await checkBeforeSend(parts, admitted);
    answer = await runJob(parts, job, request);
  } catch (error) {
    // This has no effect if the hold was settled or released, as it was unless the gateway failed.
    job.hold.abandon();
    answer = report.fail(error);
  }
  const response = { ...answer, headers: admission.addLimits(answer.headers) };
  if (!isComplete(response)) return endWithStream(response, parts, admitted);
  const end = await job.hold.ended;
  // First: a client that has the answer finds its place free, and a repeat of the request finds the answer kept.
  await admission.finish(admission.isRepeatable ? toEnding(end, response, parts.idempotency) : FORGET);
  const delivered = parts.delivery.run();
  if (delivered !== undefined) job.keepAlive(delivered);
  return afterBody(response, slot);
}

/**
 * Until the stream ends the request's body is held, too: by the job, and by the client of the provider. All that is
 * to be done then is handed to the host now: when a stream ends the host's request is over, and Next takes no more
 * work for it. It holds nothing of the answer, as a stream may be open for long and many may be at once.
 */
function endWithStream(
  response: GatewayResponse,
  { idempotency, delivery }: AdmittedParts,
  { job, admission, slot }: AdmittedJob,
): GatewayResponse {
  const { hold, isRepeatable } = admission;
  const ttlMs = idempotency.seconds * 1000;
  const finished = hold.ended.then(({ isNothingMade }) =>
    admission.finish(isRepeatable && !isNothingMade ? { kind: "mark", ttlMs } : FORGET),
  );
  job.keepAlive(
    finished.then(() => {
      slot.release();
      return delivery.run();
    }),
  );
  return response;
}

const FORGET: IdempotencyOutcome = { kind: "forget" };

/** The last moment at which a request costs nothing: it was admitted, and is not sent yet. A call once sent runs on. */
async function checkBeforeSend(parts: AdmittedParts, { job, caller, request }: AdmittedJob): Promise<void> {
  try {
    await parts.beforeSend?.(withDataUrlStrings(job.request), caller);
    if (request.signal.aborted) throw new GatewayError("client_closed_request", "The client left.");
  } catch (error) {
    await job.hold.release();
    throw error;
  }
}

function isComplete({ body }: GatewayResponse): boolean {
  return typeof body === "string" || body instanceof Uint8Array;
}

function toEnding(
  { isNothingMade }: HoldEnd,
  answer: GatewayResponse,
  { seconds, maxResponseBytes }: IdempotencyOptions,
): IdempotencyOutcome {
  // A repeat of the request may run.
  if (isNothingMade) return FORGET;
  const ttlMs = seconds * 1000;
  const stored = toStoredResponse(answer, maxResponseBytes);
  return stored === undefined ? { kind: "mark", ttlMs } : { kind: "keep", response: stored, ttlMs };
}

/**
 * Sends a job to a provider and answers with what came: JSON or a stream, whichever was asked for. A
 * job that reached a provider is settled, whatever came of it; the hold of another one is released.
 *
 * @throws GatewayError when no image came
 */
async function runJob(
  parts: CallParts,
  job: Call,
  client: Pick<GatewayRequest, "signal">,
): Promise<GatewayResponse> {
  const { request, model, logger, report } = job;
  const outcome = await dispatch({ request, model, logger, client }, parts);
  report.tried(outcome.ok ? outcome.sentTo.attempts : outcome.attempts);
  if (!outcome.ok) {
    await settleFailure(job, outcome);
    throw outcome.error;
  }
  const { ended } = outcome;
  if (ended !== undefined) void job.hold.ended.then(ended);
  if (isStreamForSure(job, outcome)) return await answerStream(parts, job, outcome);
  const answer = answerJson(parts, job, outcome);
  return isPromiseLike(answer) ? await answer : answer;
}

/**
 * Whether a response is relayed as events before its first byte has arrived. The first bytes of other responses are
 * read first: of those that were not requested as a stream, and of those with an unexpected content coding.
 */
function isStreamForSure({ request, model }: Call, { response }: Answered): boolean {
  const { headers } = response;
  return (
    request.stream &&
    model.family.responseShape !== undefined &&
    isLabelledAsEvents(headers) &&
    readContentCoding(headers) === undefined
  );
}

async function settleFailure({ hold }: Call, failed: FailedDispatch): Promise<void> {
  const { error, sentTo, nothingMade } = failed;
  if (sentTo === undefined) return hold.release();
  const { status, upstreamRequestId } = error;
  const errorCode = shownCodeOf(error);
  await hold.settle(sentTo, { status, errorCode, images: 0, upstreamRequestId, isConclusive: nothingMade });
}
