import type { GatewayError } from "./errors.js";
import type { ImageRequest, SentTo } from "./image-request.js";
import type { Logger } from "./logger.js";
import type { SecretMask } from "./mask-secrets.js";
import type { Channel } from "./routing/channel.js";
import type { ResolvedModel } from "./routing/resolve-model.js";
import { selectChannel } from "./routing/select-channel.js";
import type { AttemptFailure } from "./upstream/attempt-failure.js";
import { maySendAgain } from "./upstream/retry-policy.js";
import { sendOnce } from "./upstream/send.js";
import type { Transport, TransportResponse } from "./upstream/transport.js";
import { toUpstreamError } from "./upstream/upstream-error.js";
import type { UpstreamFailure } from "./upstream-failure.js";

/** What attempts need of the gateway. */
export interface DispatchParts {
  readonly transport: Transport;
  readonly logger: Logger;
  readonly random: () => number;
  /** Takes every channel's key out of an error's text. */
  readonly mask: SecretMask;
}

/** A channel took the request and answers with success. */
export interface Answered {
  readonly ok: true;
  readonly channel: Channel;
  readonly sentTo: SentTo;
  readonly response: TransportResponse;
}

/** How the attempts ended. `sentTo` is absent when the request reached no provider. */
export type DispatchOutcome =
  | Answered
  | { readonly ok: false; readonly sentTo: SentTo | undefined; readonly error: GatewayError };

/** Sends a request to one channel after another until one answers, or none may be tried any more. */
export async function dispatch(
  request: ImageRequest,
  model: ResolvedModel,
  parts: DispatchParts,
): Promise<DispatchOutcome> {
  const untried = new Set(model.channels);
  let reached: SentTo | undefined;
  let worst: AttemptFailure | undefined;
  for (;;) {
    const channel = selectChannel([...untried], parts.random);
    if (channel === undefined) break;
    untried.delete(channel);
    const sentTo = { channel: channel.id, upstreamModel: channel.toUpstreamModel(model.name) ?? model.name };
    const call = channel.family.toUpstream(request, sentTo.upstreamModel);
    const outcome = await sendOnce(parts.transport, call, channel, (status, body) =>
      maskFailure(channel.family.toFailure(status, body), parts.mask),
    );
    if (outcome.ok) return { ok: true, channel, sentTo, response: outcome.response };
    const { failure } = outcome;
    if (failure.kind !== "unreachable") reached = sentTo;
    if (worst === undefined || weigh(failure) >= weigh(worst)) worst = failure;
    reportChannelFailure(channel, failure, parts.logger);
    if (!maySendAgain(failure.kind, channel.retryUnsafe)) break;
  }
  return { ok: false, sentTo: reached, error: toUpstreamError(worst ?? { kind: "unreachable" }) };
}

/** Providers quote the key they refuse, and what they say goes into answers, records and logs. */
function maskFailure(failure: UpstreamFailure, mask: SecretMask): UpstreamFailure {
  const { code, message, param, requestId } = failure;
  return {
    ...failure,
    code: code && mask(code),
    message: message && mask(message),
    param: param && mask(param),
    requestId: requestId && mask(requestId),
  };
}

/**
 * Which of several failures is answered: one after which an image may have been made, so that the
 * client does not repeat it; a refused key, which tells the client least, after all others.
 */
function weigh({ kind }: AttemptFailure): number {
  if (kind === "credential") return 0;
  return maySendAgain(kind, false) ? 1 : 2;
}

/** Tells the operator what only the operator can mend; the client's own faults are not told. */
function reportChannelFailure(channel: Channel, failure: AttemptFailure, logger: Logger): void {
  if (failure.kind === "content") return;
  const fields = {
    channel: channel.id,
    reason: failure.kind,
    status: failure.status,
    code: failure.code,
    upstreamRequestId: failure.requestId,
    ...(failure.cause !== undefined && { err: failure.cause }),
  };
  if (failure.kind === "credential")
    logger.error(fields, "A channel's key or account was refused by its provider.");
  else logger.warn(fields, "A channel failed.");
}
