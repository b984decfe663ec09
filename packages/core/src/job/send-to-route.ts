import type { ImageRequest } from "../image-request.js";
import type { Logger } from "../logger.js";
import type { Channel } from "../routing/channel.js";
import type { Route } from "../routing/plan-routes.js";
import type { AttemptFailure } from "../upstream/attempt-failure.js";
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "../upstream/transport.js";
import type { UpstreamCall } from "../upstream-call.js";
import { readFailure } from "./read-failure.js";

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

/**
 * Sends a request to a channel with one of its keys, once, in the words of its family. Never rejects. Not asynchronous
 * itself, for that would hold as much again for each request that waits for its provider.
 */
export function sendToRoute(
  route: Route,
  request: ImageRequest,
  { upstreamModel, transport, logger }: SendContext,
): Promise<AttemptOutcome> {
  const { channel } = route;
  let call: UpstreamCall;
  try {
    call = channel.family.toUpstream(request, upstreamModel);
  } catch (cause) {
    return Promise.resolve(blameFamily(channel, cause, logger));
  }
  try {
    const sent = transport.send(toTransportRequest(call, route));
    return sent.then((response) => toOutcome(response, channel, logger), toLost);
  } catch (cause) {
    return Promise.resolve(toLost(cause));
  }
}

function toTransportRequest(
  { path, headers, body }: UpstreamCall,
  { channel, key }: Route,
): TransportRequest {
  return {
    url: channel.toUrl(path),
    headers: key.toHeaders(headers),
    body,
    timeouts: channel.timeouts,
  };
}

function toOutcome(
  response: TransportResponse,
  channel: Channel,
  logger: Logger,
): AttemptOutcome | Promise<AttemptOutcome> {
  const isSuccess = response.status >= 200 && response.status < 300;
  return isSuccess ? { ok: true, response } : readRefusal(response, channel, logger);
}

async function readRefusal(
  response: TransportResponse,
  channel: Channel,
  logger: Logger,
): Promise<AttemptOutcome> {
  try {
    return { ok: false, failure: await readFailure(response, channel.family) };
  } catch (cause) {
    return blameFamily(channel, cause, logger);
  }
}

/** A transport of the operator's may throw anything: what is not known may have been sent. */
function toLost(cause: unknown): AttemptOutcome {
  return { ok: false, failure: { kind: cause instanceof TransportError ? cause.reason : "broken", cause } };
}

/** A family that throws, perhaps after the provider was reached: that must leave a record. */
function blameFamily({ id }: Channel, cause: unknown, logger: Logger): AttemptOutcome {
  logger.error({ channel: id, err: cause }, "The family of a channel failed.");
  return { ok: false, failure: { kind: "broken", cause } };
}
