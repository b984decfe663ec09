import { shownCodeOf } from "../errors.js";
import type { GatewayRequest, GatewayResponse } from "../exchange.js";
import { isPromiseLike } from "../promise-like.js";
import { answerJson } from "./answer-json.js";
import { answerStream } from "./answer-stream.js";
import { dispatch, type FailedDispatch } from "./dispatch.js";
import type { Job, JobParts } from "./job.js";

/**
 * Sends a job to a provider and answers with what came: JSON or a stream, whichever was asked for. A
 * job that reached a provider is settled, whatever came of it; the hold of another one is released.
 *
 * @throws GatewayError when no image came
 */
export async function runJob(
  parts: JobParts,
  job: Job,
  client: Pick<GatewayRequest, "signal">,
): Promise<GatewayResponse> {
  const { request, model, logger, report } = job;
  const outcome = await dispatch({ request, model, logger, client }, parts);
  report.tried(outcome.ok ? outcome.sentTo.attempts : outcome.attempts);
  if (!outcome.ok) {
    await settleFailure(job, outcome);
    throw outcome.error;
  }
  const contentType = outcome.response.headers.get("content-type") ?? "";
  const isStream = /^text\/event-stream\b/i.test(contentType);
  if (isStream) return await answerStream(parts, job, outcome);
  const answer = answerJson(parts, job, outcome);
  return isPromiseLike(answer) ? await answer : answer;
}

async function settleFailure({ booking }: Job, failed: FailedDispatch): Promise<void> {
  const { error, sentTo, nothingMade } = failed;
  if (sentTo === undefined) return booking.release();
  const { status, upstreamRequestId } = error;
  const outcome = { status, errorCode: shownCodeOf(error), images: 0, upstreamRequestId };
  await (nothingMade ? booking.refuse(sentTo, outcome) : booking.settle(sentTo, outcome));
}
