import { type Channel, isConfiguredModel, type Route } from "../channels/channel.js";
import type { ChannelHealth, RouteAttempt, RouteChange } from "../channels/health.js";
import { isRefusal } from "../channels/health-record.js";
import type { RetryBudgets } from "../channels/retry-budget.js";
import { planRoutes, type RoutePlan } from "../channels/select.js";
import type { GatewayError } from "../errors.js";
import type { AttemptFailure } from "../families/family.js";
import type { GatewayRequest } from "../http.js";
import type { Logger } from "../logger.js";
import type { ResolvedModel } from "../models/resolve-model.js";
import type { SecretMask } from "../redact.js";
import type { AttemptRecord, ImageRequest, SentTo } from "../types.js";
import { hideUpstreamModel, sendToRoute } from "./attempt.js";
import { maskFailure, mayHaveMadeImage, maySendAgain, toUpstreamError } from "./failure.js";
import type { Transport, TransportResponse } from "./transport.js";

/** What attempts need of the gateway. */
export interface DispatchParts {
  readonly transport: Transport;
  readonly random: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly health: ChannelHealth;
  readonly retryBudgets: RetryBudgets;
  /** Takes keys out of what a provider said. */
  readonly mask: SecretMask;
}

/** What is sent. */
export interface Errand {
  readonly request: ImageRequest;
  readonly model: ResolvedModel;
  /** Names the request in each line. */
  readonly logger: Logger;
  /** Tells whether the client has disconnected. */
  readonly client: Pick<GatewayRequest, "signal">;
}

/** A channel responded with a 2xx status. */
export interface Answered {
  readonly ok: true;
  readonly channel: Channel;
  readonly sentTo: SentTo;
  readonly response: TransportResponse;
  /**
   * Reports a response that broke off after it began, or could not be used, to the channel's health, the log and the
   * record. Call it before the request is settled.
   */
  readonly failedLate: (failure: AttemptFailure) => void;
  /** Set for a probe. Call it when the request is settled, whether or not it failed late. */
  readonly ended?: () => void;
}

/** No channel responded with success. */
export interface FailedDispatch {
  readonly ok: false;
  /** Absent when the request reached no provider. */
  readonly sentTo: SentTo | undefined;
  readonly attempts: readonly AttemptRecord[];
  readonly error: GatewayError;
  /** True if no attempt can have made an image, so that a repeat with the same idempotency key may run. */
  readonly nothingMade: boolean;
}

/** How the attempts ended. */
export type DispatchOutcome = Answered | FailedDispatch;

/**
 * Sends a request to one channel after another until one responds with success, or no other channel may be tried.
 * After the client has disconnected no further attempt begins; an attempt in progress runs to its end.
 */
export async function dispatch(errand: Errand, parts: DispatchParts): Promise<DispatchOutcome> {
  const { model } = errand;
  const routes = planRoutes(model, parts);
  const attempts: AttemptRecord[] = [];
  let hasReached = false;
  let worst: FailedAttempt | undefined;
  let nothingMade = true;
  parts.retryBudgets.countRequest(model.entry);
  let route = routes.next();
  while (route !== undefined) {
    const attempt = await runAttempt(route, errand, parts);
    const { failure, response, open } = attempt;
    attempts.push(toAttemptRecord(attempt));
    const taken = { route, attempts, isRepeated: !nothingMade };
    if (failure === undefined)
      return toAnswered({ ...taken, response }, watchEnd(parts, errand, { route, attempts, open }));
    if (failure.kind !== "unreachable") hasReached = true;
    if (mayHaveMadeImage(failure.kind)) nothingMade = false;
    if (worst === undefined || weigh(failure) >= weigh(worst.failure)) worst = { failure, route };
    const next = maySendAgain(failure.kind, route.channel.retryUnsafe)
      ? planRetry(routes, attempt)
      : undefined;
    const isAllowed =
      next !== undefined &&
      !errand.client.signal.aborted &&
      (isFree(attempt) || parts.retryBudgets.take(model.entry));
    // An error with status 200 that is not sent again: the client gets this response.
    if (!isAllowed && response !== undefined && worst.failure === failure) {
      return toAnswered({ ...taken, response }, watchEnd(parts, errand, { route, attempts }));
    }
    route = isAllowed ? next : undefined;
  }
  // The channel whose failure the client sees, so that channel, status and code of the record belong together.
  const sentTo = worst !== undefined && hasReached ? toSentTo(worst.route, attempts) : undefined;
  const error = toUpstreamError(worst?.failure ?? { kind: "unreachable" });
  return { ok: false, sentTo, attempts, error, nothingMade };
}

/** One attempt that has ended, and what is known about it. */
type Attempt = {
  readonly route: Route;
  /** Milliseconds until the head of the response, or until all of a short response, had arrived. */
  readonly durationMs: number;
  /** True if the attempt was a probe: it found out whether a channel, key or model works again after a cooldown. */
  readonly wasProbe: boolean;
  /** The cooldown that the attempt started, extended or ended. */
  readonly change: RouteChange;
} & (
  | {
      readonly response: TransportResponse;
      readonly failure: undefined;
      /** A probe is open until its response has ended. */
      readonly open?: RouteAttempt;
    }
  /** Keys are masked in the failure. `response` is set if the error came with a 2xx status. */
  | {
      readonly response?: TransportResponse | undefined;
      readonly failure: AttemptFailure;
      readonly open?: undefined;
    }
);

/** Runs one attempt: sends the request once, and reports the result to the channel's health and the log. */
async function runAttempt(
  route: Route,
  { request, model, logger }: Errand,
  { health, transport, mask, now }: DispatchParts,
): Promise<Attempt> {
  const beganAt = now();
  const begun = health.begin(route, isConfiguredModel(route.channel, model));
  const outcome = await sendToRoute(route, request, { transport, logger });
  // The clock may be set back during the attempt.
  const durationMs = Math.max(0, now() - beganAt);
  const known = { route, durationMs, wasProbe: begun.isProbe };
  if (outcome.failure === undefined) {
    const { response } = outcome;
    // The status 200 of a stream tells nothing: its first event may be an error.
    if (begun.isProbe && response.parsed === undefined) {
      return { ...known, change: UNCHANGED, response, failure: undefined, open: begun };
    }
    const change = begun.succeeded();
    reportSuccess(route, change, logger);
    return { ...known, change, response, failure: undefined };
  }
  const failure = withoutUpstreamModel(maskFailure(outcome.failure, mask), route, request);
  const change = begun.failed(outcome.failure);
  reportFailure(route, failure, { change, logger });
  return { ...known, change, response: outcome.response, failure };
}

const UNCHANGED: RouteChange = { scope: "request", hasChanged: false };

/**
 * Whether the retry after this attempt does not count in the retry budget. Two kinds do not count: the retry after a
 * probe, so that a probe does not cost its client the request; and the retry after a refusal that starts a cooldown,
 * because that refusal does not repeat while the key or model cools.
 */
function isFree({ wasProbe, failure, change }: Attempt): boolean {
  return wasProbe || (failure !== undefined && isRefusal(failure.kind) && change.hasChanged);
}

function planRetry(routes: RoutePlan, { route, failure, wasProbe }: Attempt): Route | undefined {
  if (failure !== undefined) routes.failed(route, failure, wasProbe);
  return routes.next();
}

function toAttemptRecord({ route, failure, response, durationMs }: Attempt): AttemptRecord {
  const status = failure?.status ?? response?.status;
  return {
    channel: route.channel.id,
    key: route.key.index,
    ...(status !== undefined && { status }),
    ...(failure !== undefined && { code: codeOf(failure) }),
    durationMs,
  };
}

/** Returns the provider's code, or the gateway's code for a failure of this kind. */
function codeOf(failure: AttemptFailure): string {
  return failure.code ?? toUpstreamError(failure).code;
}

function toSentTo({ channel, upstreamModel }: Route, attempts: readonly AttemptRecord[]): SentTo {
  return { channel: channel.id, upstreamModel, attempts };
}

/** The last route, and all attempts up to then. */
interface Taken {
  readonly route: Route;
  readonly attempts: AttemptRecord[];
}

function toAnswered({ route, attempts, isRepeated, response }: TakenLast, watched: EndWatch): Answered {
  const sentTo = { ...toSentTo(route, attempts), isRepeated };
  return { ok: true, channel: route.channel, sentTo, response, ...watched };
}

interface TakenLast extends Taken {
  /** See {@link SentTo.isRepeated}. */
  readonly isRepeated: boolean;
  readonly response: TransportResponse;
}

type EndWatch = Pick<Answered, "failedLate" | "ended">;

/** Separate from `dispatch` so that its closures do not retain the request body while the response is read. */
function watchEnd(
  { health, mask }: DispatchParts,
  { model, logger }: Errand,
  { route, attempts, open }: Taken & { readonly open?: RouteAttempt | undefined },
): EndWatch {
  const isConfigured = isConfiguredModel(route.channel, model);
  let probe = open;
  const takeProbe = (): RouteAttempt | undefined => {
    const taken = probe;
    probe = undefined;
    return taken;
  };
  return {
    failedLate(failure) {
      const change = (takeProbe() ?? health.begin(route, isConfigured)).failed(failure);
      const shown = maskFailure(failure, mask);
      const last = attempts.pop();
      if (last !== undefined) attempts.push({ ...last, code: codeOf(shown) });
      reportFailure(route, { status: last?.status, ...shown }, { change, logger });
    },
    ...(open !== undefined && {
      ended() {
        const change = takeProbe()?.succeeded();
        if (change !== undefined) reportSuccess(route, change, logger);
      },
    }),
  };
}

interface FailedAttempt {
  readonly failure: AttemptFailure;
  readonly route: Route;
}

/**
 * Ranks failures: of several failures the client sees the one with the highest weight, and of equal weights the later
 * one. A failure after which an image may have been made is first, so that the client does not repeat the request. A
 * temporary refusal is more useful to the client than a permanent one, and a refused key is the least useful.
 */
function weigh({ kind }: AttemptFailure): number {
  switch (kind) {
    case "credential":
      return 0;
    case "model":
      return 1;
    case "quota":
      return 2;
    case "rate":
    case "overload":
    case "unreachable":
      return 3;
    case "content":
    case "server":
    case "timeout":
    case "broken":
      return 4;
  }
}

function reportSuccess(route: Route, { scope, hasChanged }: RouteChange, logger: Logger): void {
  if (scope === "model" && hasChanged) logger.warn(nameRoute(route), "A channel serves a model again.");
}

/** Logs failures that only the operator can fix. Mistakes of the client are not logged. */
function reportFailure(
  route: Route,
  failure: AttemptFailure,
  { change, logger }: { readonly change: RouteChange; readonly logger: Logger },
): void {
  if (failure.kind === "content") return;
  const isOfModel = change.scope === "model";
  // Requests for a model that the channel does not serve keep failing, so the log has a line only when the cooldown
  // begins or becomes longer.
  if (isOfModel && !change.hasChanged) return;
  const { channel, upstreamModel, key } = nameRoute(route);
  const fields = {
    channel,
    ...(key !== undefined && { key }),
    ...(isOfModel && { upstreamModel }),
    reason: failure.kind,
    status: failure.status,
    code: failure.code,
    upstreamMessage: failure.message,
    upstreamRequestId: failure.requestId,
    ...(failure.cause !== undefined && { err: failure.cause }),
  };
  if (failure.kind === "credential")
    logger.error(fields, "A channel's key or account was refused by its provider.");
  else if (isOfModel) logger.warn(fields, "A channel does not serve a model at the moment.");
  else logger.warn(fields, "A channel failed.");
}

function withoutUpstreamModel(
  failure: AttemptFailure,
  { upstreamModel }: Route,
  request: ImageRequest,
): AttemptFailure {
  const { message } = failure;
  return message === undefined
    ? failure
    : { ...failure, message: hideUpstreamModel(message, upstreamModel, request) };
}

function nameRoute({ channel, key, upstreamModel }: Route): {
  readonly channel: string;
  readonly key?: number;
  readonly upstreamModel: string;
} {
  return { channel: channel.id, ...(channel.keys.length > 1 && { key: key.index }), upstreamModel };
}
