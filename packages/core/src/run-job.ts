import { answerJson } from "./answer-json.js";
import { answerStream } from "./answer-stream.js";
import { type DispatchOutcome, dispatch } from "./dispatch.js";
import { shownCodeOf } from "./errors.js";
import type { GatewayResponse } from "./exchange.js";
import type { Job, JobParts } from "./job.js";
import { settleJob } from "./settle-job.js";

/**
 * Sends a job to a provider and answers with what came: JSON or a stream, whichever was asked for. A
 * job that reached a provider leaves exactly one usage record, whatever came of it.
 *
 * @throws GatewayError when no image came
 */
export async function runJob(parts: JobParts, job: Job): Promise<GatewayResponse> {
  const outcome = await dispatch(job.request, job.model, parts);
  if (!outcome.ok) throw settleFailure(parts, job, outcome);
  const contentType = outcome.response.headers.get("content-type") ?? "";
  return /^text\/event-stream\b/i.test(contentType)
    ? answerStream(parts, job, outcome)
    : answerJson(parts, job, outcome);
}

function settleFailure(parts: JobParts, job: Job, outcome: Extract<DispatchOutcome, { ok: false }>): Error {
  const { error, sentTo } = outcome;
  if (sentTo !== undefined) {
    const ending = {
      status: error.status,
      errorCode: shownCodeOf(error),
      images: 0,
      upstreamRequestId: error.upstreamRequestId,
    };
    job.keepAlive(settleJob(parts, job, sentTo, ending));
  }
  return error;
}
