import type { GatewayError } from "./errors.js";
import type { ImageRequest, SentTo } from "./image-request.js";
import type { Logger } from "./logger.js";
import type { SecretMask } from "./mask-secrets.js";
import type { Channel } from "./routing/channel.js";
import type { ChannelHealth } from "./routing/channel-health.js";
import type { ResolvedModel } from "./routing/resolve-model.js";
import type { RetryBudget } from "./routing/retry-budget.js";
import { selectChannel } from "./routing/select-channel.js";
import type { AttemptFailure } from "./upstream/attempt-failure.js";
import { maySendAgain } from "./upstream/retry-policy.js";
import { type AttemptOutcome, sendOnce } from "./upstream/send.js";
import type { Transport, TransportResponse } from "./upstream/transport.js";
import { toUpstreamError } from "./upstream/upstream-error.js";

/** What attempts need of the gateway. */
export interface DispatchParts {
  readonly transport: Transport;
  readonly logger: Logger;
  readonly random: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly health: ChannelHealth;
  readonly retryBudget: RetryBudget;
  /** Takes keys out of what a provider said. */
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
  let worst: FailedAttempt | undefined;
  parts.retryBudget.countRequest();
  for (;;) {
    const channel = selectChannel([...untried], {
      now: parts.now(),
      random: parts.random,
      readyAt: (id) => parts.health.readyAt(id),
    });
    if (channel === undefined) break;
    untried.delete(channel);
    const sentTo = { channel: channel.id, upstreamModel: channel.toUpstreamModel(model.name) ?? model.name };
    const outcome = await attempt(channel, request, sentTo.upstreamModel, parts);
    if (outcome.ok) return { ok: true, channel, sentTo, response: outcome.response };
    const { failure } = outcome;
    if (failure.kind !== "unreachable") reached = sentTo;
    if (worst === undefined || weigh(failure) >= weigh(worst.failure)) worst = { failure, sentTo };
    reportChannelFailure(channel, failure, parts.logger);
    if (!maySendAgain(failure.kind, channel.retryUnsafe)) break;
    if (untried.size > 0 && !parts.retryBudget.take()) break;
  }
  const { failure, sentTo }: Partial<FailedAttempt> = worst ?? {};
  return {
    ok: false,
    // The channel whose failure is answered, if it was reached; with it the record tells one story.
    sentTo: failure?.kind === "unreachable" ? reached : sentTo,
    error: toUpstreamError(failure ?? { kind: "unreachable" }),
  };
}

interface FailedAttempt {
  readonly failure: AttemptFailure;
  readonly sentTo: SentTo;
}

/** Sends once, and tells the channel's health how it went. */
async function attempt(
  channel: Channel,
  request: ImageRequest,
  upstreamModel: string,
  { transport, health, mask, logger }: DispatchParts,
): Promise<AttemptOutcome> {
  const { family } = channel;
  const begun = health.begin(channel.id);
  let outcome: AttemptOutcome;
  try {
    const call = family.toUpstream(request, upstreamModel);
    outcome = await sendOnce(transport, call, channel, (status, body) => family.toFailure(status, body));
  } catch (cause) {
    // A family that throws, perhaps after the provider was reached: that must leave a record.
    logger.error({ channel: channel.id, err: cause }, "The family of a channel failed.");
    outcome = { ok: false, failure: { kind: "broken", cause } };
  }
  if (outcome.ok) {
    begun.succeeded();
    return outcome;
  }
  begun.failed(outcome.failure);
  return { ok: false, failure: maskFailure(outcome.failure, mask) };
}

/** Providers quote the key they refuse, and what they say goes into answers, records and logs. */
function maskFailure(failure: AttemptFailure, mask: SecretMask): AttemptFailure {
  const { code, message, param, requestId, body } = failure;
  return {
    ...failure,
    code: code && mask(code),
    message: message && mask(message),
    param: param && mask(param),
    requestId: requestId && mask(requestId),
    body: body && mask(body),
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
