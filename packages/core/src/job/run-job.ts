import { shownCodeOf } from "../errors.js";
import type { GatewayRequest, GatewayResponse } from "../exchange.js";
import { isPromiseLike } from "../promise-like.js";
import { isLabelledAsEvents, readContentCoding } from "../upstream/read-answer.js";
import { answerJson } from "./answer-json.js";
import { answerStream } from "./answer-stream.js";
import { type Answered, dispatch, type FailedDispatch } from "./dispatch.js";
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
function isStreamForSure({ request, model }: Job, { response }: Answered): boolean {
  const { headers } = response;
  return (
    request.stream &&
    model.family.responseShape !== undefined &&
    isLabelledAsEvents(headers) &&
    readContentCoding(headers) === undefined
  );
}

async function settleFailure({ hold }: Job, failed: FailedDispatch): Promise<void> {
  const { error, sentTo, nothingMade } = failed;
  if (sentTo === undefined) return hold.release();
  const { status, upstreamRequestId } = error;
  const errorCode = shownCodeOf(error);
  await hold.settle(sentTo, { status, errorCode, images: 0, upstreamRequestId, isConclusive: nothingMade });
}
