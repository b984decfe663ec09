import type { Hold } from "./billing/hold.js";
import { shownCodeOf } from "./errors.js";
import type { GatewayRequest, GatewayResponse } from "./http.js";
import { type Call, type CallParts, toTaskOptions } from "./responses/call.js";
import { storesImages } from "./responses/create-delivery.js";
import { respondWithFanOut } from "./responses/fan-out.js";
import { respondWithFanOutStream } from "./responses/fan-out-stream.js";
import { respondWithJson } from "./responses/json.js";
import { respondWithStream } from "./responses/stream.js";
import { dispatch, type UpstreamRefusal, type UpstreamSuccess } from "./upstream/dispatch.js";
import { isLabelledAsEvents, readContentCoding } from "./upstream/read.js";

/**
 * Sends an admitted call to a provider, and responds with what comes back. If the call reached a provider it is
 * settled, otherwise its hold is released. A relayed response is settled when it ends, after this function has returned.
 *
 * @param client tells whether the client has disconnected
 * @throws GatewayError if there is no image
 */
export async function runCall(
  parts: CallParts,
  call: Call,
  client: Pick<GatewayRequest, "signal">,
): Promise<GatewayResponse> {
  const { id, request, model, logger, hold, report, loadReferences } = call;
  if (request.upstreamCalls !== undefined) {
    const response = await (request.stream
      ? respondWithFanOutStream(parts, call, client)
      : respondWithFanOut(parts, call, client));
    report.observer?.firstImage();
    return response;
  }
  const result = await dispatch(
    { id, request, model, logger, client, loadReferences, observer: report.observer, ...toTaskOptions(call) },
    parts,
  );
  report.setAttempts(result.ok ? result.sentTo.attempts : result.attempts);
  if (!result.ok) {
    await settleRefusal(hold, result);
    throw result.error;
  }
  const { end } = result;
  if (end !== undefined) void hold.ended.then(end);
  if (isCertainlyStream(parts, call, result)) return respondWithStream(parts, call, result);
  const response = await respondWithJson(parts, call, result);
  report.observer?.firstImage();
  return response;
}

async function settleRefusal(hold: Hold, refusal: UpstreamRefusal): Promise<void> {
  const { error, sentTo, isNothingMade, isUnknown, usage } = refusal;
  if (sentTo === undefined) return hold.release();
  const { status, upstreamRequestId } = error;
  const errorCode = shownCodeOf(error);
  const known = { usage, upstreamRequestId, isConclusive: isNothingMade, isUnknown };
  await hold.settle(sentTo, { status, errorCode, images: 0, ...known });
}

/**
 * Whether a response is relayed as events before its first byte has arrived. The first bytes of other responses are
 * read first: of requests without a stream, of those with an unexpected content coding, and of those whose
 * images are stored, also if they are JSON with a wrong content type.
 */
function isCertainlyStream(
  { results }: CallParts,
  { request }: Call,
  { channel, response }: UpstreamSuccess,
): boolean {
  const { headers } = response;
  return (
    request.stream &&
    !storesImages(results, request) &&
    request.streamFormat !== "openai" &&
    channel.dialect.responseShape !== undefined &&
    isLabelledAsEvents(headers) &&
    readContentCoding(headers) === undefined
  );
}
