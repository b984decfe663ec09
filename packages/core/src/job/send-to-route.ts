import type { ImageRequest } from "../image-request.js";
import type { Logger } from "../logger.js";
import type { Route } from "../routing/plan-routes.js";
import { type AttemptOutcome, sendOnce } from "../upstream/send.js";
import type { Transport } from "../upstream/transport.js";

/** What sending needs beside the route. */
export interface SendContext {
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  readonly transport: Transport;
  readonly logger: Logger;
}

/** Sends a request to a channel with one of its keys, once, in the words of its family. Never rejects. */
export async function sendToRoute(
  { channel, key }: Route,
  request: ImageRequest,
  { upstreamModel, transport, logger }: SendContext,
): Promise<AttemptOutcome> {
  const { family, toUrl, headers, timeouts } = channel;
  const to = { toUrl, headers, timeouts, apiKey: key.apiKey };
  try {
    const call = family.toUpstream(request, upstreamModel);
    return await sendOnce(transport, call, to, (status, body) => family.toFailure(status, body));
  } catch (cause) {
    // A family that throws, perhaps after the provider was reached: that must leave a record.
    logger.error({ channel: channel.id, err: cause }, "The family of a channel failed.");
    return { ok: false, failure: { kind: "broken", cause } };
  }
}
