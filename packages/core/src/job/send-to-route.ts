import type { Channel, Route } from "../channels/channel.js";
import type { ImageRequest } from "../image-request.js";
import type { Logger } from "../logger.js";
import type { Awaitable } from "../promise-like.js";
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "../upstream/transport.js";
import type { UpstreamCall } from "../upstream-call.js";
import type { AttemptFailure } from "../upstream-failure.js";
import { inspectResponse } from "./inspect-response.js";
import { readFailure } from "./read-failure.js";

/** What sending needs beside the route. */
export interface SendContext {
  readonly transport: Transport;
  readonly logger: Logger;
}

/**
 * How one attempt ended: with a response, with a failure, or with both if the provider sent an error with status 200.
 */
export type AttemptOutcome =
  | { readonly response: TransportResponse; readonly failure: undefined }
  | { readonly response?: TransportResponse; readonly failure: AttemptFailure };

/**
 * Sends a request once, in the family's format, to a channel with one of its keys. Never rejects. Not `async`,
 * because an async function would double the memory of each request that waits for its provider.
 */
export function sendToRoute(
  route: Route,
  request: ImageRequest,
  { transport, logger }: SendContext,
): Promise<AttemptOutcome> {
  const { channel, upstreamModel } = route;
  let call: UpstreamCall;
  try {
    call = channel.family.toUpstream(request, upstreamModel);
  } catch (cause) {
    return Promise.resolve(blameFamily(channel, cause, logger));
  }
  try {
    const sent = transport.send(toTransportRequest(call, route));
    return sent.then((response) => toOutcome(response, { channel, request, logger }), toLost);
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

/** The dependencies of reading a response. */
interface Reading {
  readonly channel: Channel;
  readonly request: ImageRequest;
  readonly logger: Logger;
}

function toOutcome(
  response: TransportResponse,
  { channel, request, logger }: Reading,
): Awaitable<AttemptOutcome> {
  const isSuccess = response.status >= 200 && response.status < 300;
  if (isSuccess) return inspectResponse(response, channel.family, request);
  return readRefusal(response, channel, logger);
}

async function readRefusal(
  response: TransportResponse,
  channel: Channel,
  logger: Logger,
): Promise<AttemptOutcome> {
  try {
    return { failure: await readFailure(response, channel.family) };
  } catch (cause) {
    return blameFamily(channel, cause, logger);
  }
}

/** A transport of the operator's may throw anything: what is not known may have been sent. */
function toLost(cause: unknown): AttemptOutcome {
  return { failure: { kind: cause instanceof TransportError ? cause.reason : "broken", cause } };
}

/** A family that throws, perhaps after the provider was reached: that must leave a record. */
function blameFamily({ id }: Channel, cause: unknown, logger: Logger): AttemptOutcome {
  logger.error({ channel: id, err: cause }, "The family of a channel failed.");
  return { failure: { kind: "broken", cause } };
}
