import type { GatewayError } from "../errors.js";
import type { ImageRequest, SentTo } from "../image-request.js";
import type { Logger } from "../logger.js";
import type { SecretMask } from "../mask-secrets.js";
import { beginRoute } from "../routing/begin-route.js";
import type { Channel } from "../routing/channel.js";
import type { ChannelHealth } from "../routing/channel-health.js";
import { planRoutes, type Route } from "../routing/plan-routes.js";
import type { ResolvedModel } from "../routing/resolve-model.js";
import type { RetryBudget } from "../routing/retry-budget.js";
import { type AttemptFailure, maskFailure } from "../upstream/attempt-failure.js";
import { maySendAgain } from "../upstream/retry-policy.js";
import type { Transport, TransportResponse } from "../upstream/transport.js";
import { toUpstreamError } from "../upstream/upstream-error.js";
import { sendToRoute } from "./send-to-route.js";

/** What attempts need of the gateway. */
export interface DispatchParts {
  readonly transport: Transport;
  readonly random: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly health: ChannelHealth;
  readonly retryBudget: RetryBudget;
  /** Takes keys out of what a provider said. */
  readonly mask: SecretMask;
}

/** What is sent. */
export interface Errand {
  readonly request: ImageRequest;
  readonly model: ResolvedModel;
  /** Names the request in each line. */
  readonly logger: Logger;
}

/** A channel took the request and answers with success. */
export interface Answered {
  readonly ok: true;
  readonly channel: Channel;
  readonly sentTo: SentTo;
  readonly response: TransportResponse;
  /** Tells the channel's health of an answer that began well and broke off, or was none. */
  readonly failedLate: (failure: AttemptFailure) => void;
}

/** No channel answered with success. */
export interface FailedDispatch {
  readonly ok: false;
  /** Absent when the request reached no provider. */
  readonly sentTo: SentTo | undefined;
  readonly error: GatewayError;
  /** True when no image can have been made, so that the client may send the request again. */
  readonly nothingMade: boolean;
}

/** How the attempts ended. */
export type DispatchOutcome = Answered | FailedDispatch;

/** Sends a request to one channel after another until one answers, or none may be tried any more. */
export async function dispatch(
  { request, model, logger }: Errand,
  parts: DispatchParts,
): Promise<DispatchOutcome> {
  const routes = planRoutes(model.channels, parts);
  let reached: SentTo | undefined;
  let worst: FailedAttempt | undefined;
  parts.retryBudget.countRequest();
  let route = routes.next();
  while (route !== undefined) {
    const { channel } = route;
    const sentTo = { channel: channel.id, upstreamModel: channel.toUpstreamModel(model.name) ?? model.name };
    const attempt = beginRoute(parts.health, route);
    const { upstreamModel } = sentTo;
    const outcome = await sendToRoute(route, request, { upstreamModel, transport: parts.transport, logger });
    if (outcome.ok) {
      attempt.succeeded();
      return { ok: true, channel, sentTo, response: outcome.response, failedLate: failLater(parts, route) };
    }
    attempt.failed(outcome.failure);
    const failure = maskFailure(outcome.failure, parts.mask);
    if (failure.kind !== "unreachable") reached = sentTo;
    if (worst === undefined || weigh(failure) >= weigh(worst.failure)) worst = { failure, sentTo };
    reportFailure(route, failure, logger);
    if (!maySendAgain(failure.kind, channel.retryUnsafe)) break;
    routes.failed(route, failure.kind);
    route = routes.next();
    if (route !== undefined && !parts.retryBudget.take()) break;
  }
  const { failure, sentTo }: Partial<FailedAttempt> = worst ?? {};
  return {
    ok: false,
    // The channel whose failure is answered, if it was reached; with it the record tells one story.
    sentTo: failure?.kind === "unreachable" ? reached : sentTo,
    error: toUpstreamError(failure ?? { kind: "unreachable" }),
    // The failure that weighs most: where an image may have been made, it is that one.
    nothingMade: failure === undefined || maySendAgain(failure.kind, false),
  };
}

/** Apart from `dispatch`, since it is held as long as the answer takes: with it would be what `dispatch` was given. */
function failLater({ health }: DispatchParts, route: Route): Answered["failedLate"] {
  return (failure) => beginRoute(health, route).failed(failure);
}

interface FailedAttempt {
  readonly failure: AttemptFailure;
  readonly sentTo: SentTo;
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
function reportFailure({ channel, key }: Route, failure: AttemptFailure, logger: Logger): void {
  if (failure.kind === "content") return;
  const fields = {
    channel: channel.id,
    ...(channel.keys.length > 1 && { key: key.index }),
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
