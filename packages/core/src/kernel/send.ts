import type { Commit } from "../billing/commit.js";
import { shownCodeOf } from "../errors.js";
import type { GatewayResponse } from "../http.js";
import type { CallParts } from "../responses/call.js";
import { respondWithFanOut } from "../responses/fan-out.js";
import { respondWithFanOutStream } from "../responses/fan-out-stream.js";
import { respondWithJson } from "../responses/json.js";
import { respondWithStream } from "../responses/stream.js";
import { dispatch, type UpstreamRefusal, type UpstreamSuccess } from "../upstream/dispatch.js";
import { isLabelledAsEvents, readContentCoding } from "../upstream/read.js";
import type { NormalizedCall } from "./normalized-call.js";

/**
 * Sends a call to a provider, and responds with what comes back. A call that reached a provider is charged, and the hold of
 * another one is released. A relayed response is charged when it ends, after this function has returned.
 *
 * @throws GatewayError if there is no image
 */
export async function send(parts: CallParts, call: NormalizedCall, commit: Commit): Promise<GatewayResponse> {
  const { request, observer } = call;
  if (request.upstreamCalls !== undefined) {
    const response = await (request.stream
      ? respondWithFanOutStream(parts, call, commit)
      : respondWithFanOut(parts, call, commit));
    observer?.firstImage();
    return response;
  }
  const result = await dispatch(call, commit, parts);
  call.report.setAttempts(result.ok ? result.sentTo.attempts : result.attempts);
  if (!result.ok) {
    await commitRefusal(commit, result);
    throw result.error;
  }
  const { end } = result;
  if (end !== undefined) void commit.ended.then(end);
  if (isCertainlyStream(parts, call, result)) return respondWithStream(parts, call, commit, result);
  const response = await respondWithJson(parts, call, commit, result);
  observer?.firstImage();
  return response;
}

async function commitRefusal(
  commit: Commit,
  { error, sentTo, isNothingMade, isUnknown, usage }: UpstreamRefusal,
): Promise<void> {
  const { status, upstreamRequestId } = error;
  const errorCode = shownCodeOf(error);
  const known = { usage, upstreamRequestId, isConclusive: isNothingMade, isUnknown };
  await commit.run(sentTo, { status, errorCode, images: 0, ...known });
}

/**
 * Whether a response is relayed as events before its first byte has arrived. Otherwise the first bytes decide: no stream was
 * requested, the content coding is unexpected, or images pass through a stage. The content type may be wrong.
 */
function isCertainlyStream(
  { images, requireMarks }: CallParts,
  { request }: NormalizedCall,
  { channel, response }: UpstreamSuccess,
): boolean {
  const { headers } = response;
  return (
    request.stream &&
    images?.handles(request.operation) !== true &&
    requireMarks === undefined &&
    request.streamFormat !== "openai" &&
    channel.dialect.responseShape !== undefined &&
    isLabelledAsEvents(headers) &&
    readContentCoding(headers) === undefined
  );
}
