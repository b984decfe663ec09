import type { Admission } from "../admission/admit.js";
import type { Visit } from "../admission/slot.js";
import type { IdempotencyEnding } from "../admission/store.js";
import { toStoredResponse } from "../admission/stored-response.js";
import type { Delivery } from "../billing/delivery.js";
import type { HoldEnd } from "../billing/hold.js";
import { GatewayError } from "../errors.js";
import type { GatewayRequest, GatewayResponse } from "../exchange.js";
import type { BeforeSend } from "../hooks.js";
import type { Caller } from "../image-request.js";
import { withDataUrlTexts } from "../images/data-url.js";
import type { IdempotencyOptions } from "../options/options.js";
import type { RequestReport } from "../request-report.js";
import { afterBody } from "../response/after-body.js";
import type { Job, JobParts } from "./job.js";
import { runJob } from "./run-job.js";

/** What the end of a job needs of the gateway beside what the job needs. */
interface AdmittedParts extends JobParts {
  readonly beforeSend: BeforeSend | undefined;
  readonly idempotency: IdempotencyOptions;
  readonly delivery: Delivery;
}

/** A job that was let through, and what it holds until it is over. */
export interface AdmittedJob {
  readonly job: Job;
  readonly admission: Extract<Admission, { kind: "admitted" }>;
  readonly visit: Visit;
  readonly caller: Caller;
  /** Whose signal tells whether the client is still there. */
  readonly request: Pick<GatewayRequest, "signal">;
  readonly report: RequestReport;
}

/**
 * Runs a job to its answer, which may be an error, and gives back what it holds when it is over: with its answer, or
 * where that is a stream with the end of it. Never rejects.
 */
export async function runAdmitted(parts: AdmittedParts, admitted: AdmittedJob): Promise<GatewayResponse> {
  const { job, admission, visit, request, report } = admitted;
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
  const finished = admission.finish(
    admission.isRepeatable ? toEnding(end, response, parts.idempotency) : FORGET,
  );
  if (finished !== undefined) await finished;
  const delivered = parts.delivery.run();
  if (delivered !== undefined) job.keepAlive(delivered);
  return afterBody(response, visit);
}

/**
 * Until the stream ends the request's body is held, too: by the job, and by the client of the provider. All that is
 * to be done then is handed to the host now: when a stream ends the host's request is over, and Next takes no more
 * work for it. It holds nothing of the answer, as a stream may be open for long and many may be at once.
 */
function endWithStream(
  response: GatewayResponse,
  { idempotency, delivery }: AdmittedParts,
  { job, admission, visit }: AdmittedJob,
): GatewayResponse {
  const { hold, isRepeatable } = admission;
  const ttlMs = idempotency.seconds * 1000;
  const finished = hold.ended.then(({ isNothingMade }) =>
    admission.finish(isRepeatable && !isNothingMade ? { kind: "mark", ttlMs } : FORGET),
  );
  job.keepAlive(
    finished.then(() => {
      visit.leave();
      return delivery.run();
    }),
  );
  return response;
}

const FORGET: IdempotencyEnding = { kind: "forget" };

/** The last moment at which a request costs nothing: it was admitted, and is not sent yet. A call once sent runs on. */
async function checkBeforeSend(parts: AdmittedParts, { job, caller, request }: AdmittedJob): Promise<void> {
  try {
    await parts.beforeSend?.(withDataUrlTexts(job.request), caller);
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
): IdempotencyEnding {
  // A repeat of the request may run.
  if (isNothingMade) return FORGET;
  const ttlMs = seconds * 1000;
  const stored = toStoredResponse(answer, maxResponseBytes);
  return stored === undefined ? { kind: "mark", ttlMs } : { kind: "keep", answer: stored, ttlMs };
}
