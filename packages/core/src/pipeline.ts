import { type AdmissionParts, admit } from "./admission/admit.js";
import { mergeLimits } from "./admission/rate-limits.js";
import type { Entrance, Visit } from "./admission/slot.js";
import { renderReplay } from "./admission/stored-response.js";
import type { Authenticator } from "./auth/authenticate.js";
import type { Delivery } from "./billing/delivery.js";
import { DEFAULT_GROUP, type PriceList } from "./billing/pricing.js";
import type { Dependencies } from "./dependencies.js";
import { GatewayError } from "./errors.js";
import type { GatewayRequest, GatewayResponse } from "./exchange.js";
import type { BeforeSend } from "./hooks.js";
import type { CallerLimits, Operation, ResponseFormat } from "./image-request.js";
import type { JobParts } from "./job/job.js";
import { runAdmitted } from "./job/run-admitted.js";
import { type Logger, withFields } from "./logger.js";
import type { ModelResolver } from "./models/resolve-model.js";
import type { IdempotencyOptions } from "./options/options.js";
import { isPromiseLike } from "./promise-like.js";
import { type BodyLimits, normalizeRequest, readFields } from "./request/read-request.js";
import { createArrival, createRequestReport, type ReportParts } from "./request-report.js";
import type { ReaderLimit } from "./response/reader-limit.js";

/** What the pipeline is wired from, once for each set of options. */
export interface PipelineParts extends JobParts, AdmissionParts, ReportParts {
  readonly authenticate: Authenticator;
  readonly entrance: Entrance;
  readonly resolveModel: ModelResolver;
  /** `undefined` without `billing`. */
  readonly prices: PriceList | undefined;
  /** What each caller may do, unless its own limits say otherwise. */
  readonly limits: CallerLimits | undefined;
  readonly idempotency: IdempotencyOptions;
  readonly delivery: Delivery;
  readonly responseFormat: ResponseFormat | undefined;
  readonly bodyLimits: BodyLimits;
  readonly repeat: Dependencies["repeat"];
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
  let visit: Visit | undefined;
  let response: GatewayResponse;
  try {
    checkMethod(request.method);
    const found = parts.authenticate(request.headers);
    const caller = isPromiseLike(found) ? await found : found;
    report.isFrom(caller.id);
    const callerLimits = mergeLimits(caller.limits, parts.limits);
    visit = parts.entrance.enter(request, { id: caller.id, concurrent: callerLimits.concurrent });
    const { bodyLimits: limits, repeat } = parts;
    const fields = await readFields(request, { operation, limits, visit, repeat });
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
      response = renderReplay(admission.answer, id);
      visit.leave();
    } else {
      const job = {
        id,
        request: imageRequest,
        model,
        hold: admission.hold,
        logger,
        keepAlive,
        keptBytes: admission.isRepeatable ? parts.idempotency.maxResponseBytes : 0,
        bytes: visit.bytes,
        report,
      };
      response = await runAdmitted(parts, { job, admission, visit, caller, request, report });
    }
  } catch (error) {
    visit?.leave();
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
