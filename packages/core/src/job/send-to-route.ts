import type { ImageRequest } from "../image-request.js";
import type { Logger } from "../logger.js";
import type { Channel } from "../routing/channel.js";
import type { Route } from "../routing/plan-routes.js";
import type { AttemptFailure } from "../upstream/attempt-failure.js";
import { readFailure } from "../upstream/read-failure.js";
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "../upstream/transport.js";
import type { UpstreamCall } from "../upstream-call.js";

/** What sending needs beside the route. */
export interface SendContext {
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  readonly transport: Transport;
  readonly logger: Logger;
}

/** How one attempt ended: with the head of a successful answer, or with the reason it failed. */
export type AttemptOutcome =
  | { readonly ok: true; readonly response: TransportResponse }
  | { readonly ok: false; readonly failure: AttemptFailure };

/** Sends a request to a channel with one of its keys, once, in the words of its family. Never rejects. */
export async function sendToRoute(
  route: Route,
  request: ImageRequest,
  { upstreamModel, transport, logger }: SendContext,
): Promise<AttemptOutcome> {
  let call: UpstreamCall;
  try {
    call = route.channel.family.toUpstream(request, upstreamModel);
  } catch (cause) {
    return { ok: false, failure: blameFamily(route.channel, cause, logger) };
  }
  let response: TransportResponse;
  try {
    response = await transport.send(toTransportRequest(call, route));
  } catch (cause) {
    // A transport of the operator's may throw anything: what is not known may have been sent.
    return { ok: false, failure: { kind: cause instanceof TransportError ? cause.reason : "broken", cause } };
  }
  if (response.status >= 200 && response.status < 300) return { ok: true, response };
  return { ok: false, failure: await readRefusal(response, route.channel, logger) };
}

function toTransportRequest(
  { path, headers, body }: UpstreamCall,
  { channel, key }: Route,
): TransportRequest {
  return {
    url: channel.toUrl(path),
    headers: { ...headers, ...channel.headers, authorization: `Bearer ${key.apiKey}` },
    body,
    timeouts: channel.timeouts,
  };
}

async function readRefusal(
  response: TransportResponse,
  channel: Channel,
  logger: Logger,
): Promise<AttemptFailure> {
  try {
    return await readFailure(response, channel.family);
  } catch (cause) {
    return blameFamily(channel, cause, logger);
  }
}

/** A family that throws, perhaps after the provider was reached: that must leave a record. */
function blameFamily({ id }: Channel, cause: unknown, logger: Logger): AttemptFailure {
  logger.error({ channel: id, err: cause }, "The family of a channel failed.");
  return { kind: "broken", cause };
}
