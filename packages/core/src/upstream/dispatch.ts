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
import { hideUpstreamModel, type ParsedResponse, sendAttempt } from "./attempt.js";
import { maskFailure, mayHaveMadeImage, maySendAgain, toUpstreamError } from "./failure.js";
import type { Transport, TransportResponse } from "./transport.js";

/** What dispatch needs of the gateway. */
export interface DispatchParts {
  readonly transport: Transport;
  readonly random: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly health: ChannelHealth;
  readonly retryBudgets: RetryBudgets;
  /** Masks keys in what a provider said. */
  readonly mask: SecretMask;
}

/** The request to send. */
export interface DispatchRequest {
  readonly request: ImageRequest;
  readonly model: ResolvedModel;
  /** Adds the request's id to each line. */
  readonly logger: Logger;
  /** Tells whether the client has disconnected. */
  readonly client: Pick<GatewayRequest, "signal">;
}

/** A channel responded with a 2xx status. */
export interface UpstreamSuccess {
  readonly ok: true;
  readonly channel: Channel;
  readonly sentTo: SentTo;
  readonly response: TransportResponse;
  /** Set if the whole body has arrived, is short, and is JSON. Then the body need not be read. */
  readonly parsed?: ParsedResponse | undefined;
  /**
   * Reports a response that broke off or cannot be used to the channel's health, the log and the record. Call it before
   * the call is settled.
   */
  readonly fail: (failure: AttemptFailure) => void;
  /** Set for a probe. Call it when the call is settled, whether or not the response failed. */
  readonly endProbe?: () => void;
}

/** No channel responded with a 2xx status. */
export interface UpstreamRefusal {
  readonly ok: false;
  /** `undefined` if the request reached no provider. */
  readonly sentTo: SentTo | undefined;
  readonly attempts: readonly AttemptRecord[];
  readonly error: GatewayError;
  /** True if no attempt can have made an image, so that a repeat with the same idempotency key may run. */
  readonly isNothingMade: boolean;
}

/**
 * Sends a request to one channel after another until one responds with success, or no other channel may be tried.
 * After the client has disconnected no further attempt begins; an attempt in progress runs to its end.
 */
export async function dispatch(
  sent: DispatchRequest,
  parts: DispatchParts,
): Promise<UpstreamSuccess | UpstreamRefusal> {
  const { model, client } = sent;
  const routes = planRoutes(model, parts);
  const attempts: AttemptRecord[] = [];
  let hasReached = false;
  let isNothingMade = true;
  let worst: FailedAttempt | undefined;
  parts.retryBudgets.countRequest(model.entry);
  let route = routes.next();
  while (route !== undefined) {
    const isRepeated = !isNothingMade;
    const attempt = await runAttempt(route, sent, parts);
    const { failure, response, openProbe, parsed } = attempt;
    attempts.push(toAttemptRecord(attempt));
    if (failure === undefined) {
      return toSuccess({ route, attempts, isRepeated, response, parsed, openProbe }, sent, parts);
    }
    if (failure.kind !== "unreachable") hasReached = true;
    if (mayHaveMadeImage(failure.kind)) isNothingMade = false;
    if (worst === undefined || weigh(failure) >= weigh(worst.failure)) worst = { failure, route };
    const next = planRetry(routes, attempt);
    const isAllowed =
      next !== undefined &&
      !client.signal.aborted &&
      (isRetryFree(attempt) || parts.retryBudgets.take(model.entry));
    // An error with status 200 that is not retried: the client gets this response.
    if (!isAllowed && response !== undefined && worst.failure === failure) {
      return toSuccess({ route, attempts, isRepeated, response, parsed }, sent, parts);
    }
    route = isAllowed ? next : undefined;
  }
  // The channel whose failure the client sees, so that channel, status and code of the record belong together.
  const sentTo = worst !== undefined && hasReached ? toSentTo(worst.route, attempts) : undefined;
  const error = toUpstreamError(worst?.failure ?? { kind: "unreachable" });
  return { ok: false, sentTo, attempts, error, isNothingMade };
}

/** One attempt that has ended. */
type Attempt = {
  readonly route: Route;
  /** Milliseconds until the head of the response, or until all of a short response, had arrived. */
  readonly durationMs: number;
  /** True if the attempt was a probe: it found out whether a channel, key or model works again after a cooldown. */
  readonly isProbe: boolean;
  /** The cooldown that the attempt started, extended or ended. */
  readonly change: RouteChange;
} & (
  | {
      readonly response: TransportResponse;
      readonly failure: undefined;
      readonly parsed?: ParsedResponse | undefined;
      /** Set for a probe whose response has not ended. */
      readonly openProbe?: RouteAttempt;
    }
  | {
      /** Set if the error came with a 2xx status. */
      readonly response?: TransportResponse | undefined;
      /** Keys are masked. */
      readonly failure: AttemptFailure;
      readonly parsed?: undefined;
      readonly openProbe?: undefined;
    }
);

interface FailedAttempt {
  readonly failure: AttemptFailure;
  readonly route: Route;
}

const UNCHANGED: RouteChange = { scope: "request", hasChanged: false };

/** Sends the request once, and reports the result to the channel's health and the log. */
async function runAttempt(
  route: Route,
  { request, model, logger }: DispatchRequest,
  { health, transport, mask, now }: DispatchParts,
): Promise<Attempt> {
  const beganAt = now();
  const tried = health.begin(route, isConfiguredModel(route.channel, model));
  const { isProbe } = tried;
  const outcome = await sendAttempt(route, request, { transport, logger });
  // The clock may be set back during the attempt.
  const durationMs = Math.max(0, now() - beganAt);
  if (outcome.failure === undefined) {
    const { response, parsed } = outcome;
    // The status 200 of a stream does not end a probe: the first event may be an error.
    if (isProbe && parsed === undefined) {
      return {
        route,
        durationMs,
        isProbe,
        change: UNCHANGED,
        response,
        failure: undefined,
        parsed,
        openProbe: tried,
      };
    }
    const change = tried.succeeded();
    logRecovery(route, change, logger);
    return { route, durationMs, isProbe, change, response, failure: undefined, parsed };
  }
  const failure = hideModelIn(maskFailure(outcome.failure, mask), route, request);
  const change = tried.failed(outcome.failure);
  logFailure(route, failure, { change, logger });
  return { route, durationMs, isProbe, change, response: outcome.response, failure };
}

function hideModelIn(
  failure: AttemptFailure,
  { upstreamModel }: Route,
  request: ImageRequest,
): AttemptFailure {
  const { message } = failure;
  return message === undefined
    ? failure
    : { ...failure, message: hideUpstreamModel(message, upstreamModel, request) };
}

/** The next route, or `undefined` if the request must not or cannot be sent again. */
function planRetry(routes: RoutePlan, { route, failure, isProbe }: Attempt): Route | undefined {
  if (failure === undefined || !maySendAgain(failure.kind, route.channel.retryUnsafe)) return undefined;
  routes.failed(route, failure, isProbe);
  return routes.next();
}

/**
 * Whether the retry after this attempt does not count in the retry budget. Two kinds do not count: the retry after a
 * probe, so that a probe does not cost its client the request; and the retry after a refusal that starts a cooldown,
 * because that refusal does not repeat while the key or model cools down.
 */
function isRetryFree({ isProbe, failure, change }: Attempt): boolean {
  return isProbe || (failure !== undefined && isRefusal(failure.kind) && change.hasChanged);
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

function toSentTo({ channel, upstreamModel }: Route, attempts: readonly AttemptRecord[]): SentTo {
  return { channel: channel.id, upstreamModel, attempts };
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

interface LastAttempt {
  readonly route: Route;
  readonly attempts: AttemptRecord[];
  /** See {@link SentTo.isRepeated}. */
  readonly isRepeated: boolean;
  readonly response: TransportResponse;
  readonly parsed?: ParsedResponse | undefined;
  readonly openProbe?: RouteAttempt | undefined;
}

/** Separate from `dispatch` so that its closures do not retain the request body while the response is read. */
function toSuccess(
  { route, attempts, isRepeated, response, parsed, openProbe }: LastAttempt,
  { model, logger }: DispatchRequest,
  { health, mask }: DispatchParts,
): UpstreamSuccess {
  const isConfigured = isConfiguredModel(route.channel, model);
  let probe = openProbe;
  const takeProbe = (): RouteAttempt | undefined => {
    const taken = probe;
    probe = undefined;
    return taken;
  };
  return {
    ok: true,
    channel: route.channel,
    sentTo: { ...toSentTo(route, attempts), isRepeated },
    response,
    parsed,
    fail(failure) {
      const change = (takeProbe() ?? health.begin(route, isConfigured)).failed(failure);
      const masked = maskFailure(failure, mask);
      const last = attempts.pop();
      if (last !== undefined) attempts.push({ ...last, code: codeOf(masked) });
      logFailure(route, { status: last?.status, ...masked }, { change, logger });
    },
    ...(openProbe !== undefined && {
      endProbe() {
        const change = takeProbe()?.succeeded();
        if (change !== undefined) logRecovery(route, change, logger);
      },
    }),
  };
}

function logRecovery(route: Route, { scope, hasChanged }: RouteChange, logger: Logger): void {
  if (scope === "model" && hasChanged) logger.warn(toLogFields(route), "A channel serves a model again.");
}

/** Logs failures that only the operator can fix. Mistakes of the client are not logged. */
function logFailure(
  route: Route,
  failure: AttemptFailure,
  { change, logger }: { readonly change: RouteChange; readonly logger: Logger },
): void {
  if (failure.kind === "content") return;
  const isOfModel = change.scope === "model";
  // Requests for a model that the channel does not serve keep failing, so the log has a line only when the cooldown
  // begins or becomes longer.
  if (isOfModel && !change.hasChanged) return;
  const { upstreamModel, ...names } = toLogFields(route);
  const fields = {
    ...names,
    ...(isOfModel && { upstreamModel }),
    reason: failure.kind,
    status: failure.status,
    code: failure.code,
    upstreamMessage: failure.message,
    upstreamRequestId: failure.requestId,
    ...(failure.cause !== undefined && { err: failure.cause }),
  };
  if (failure.kind === "credential") {
    logger.error(fields, "A channel's key or account was refused by its provider.");
  } else if (isOfModel) logger.warn(fields, "A channel does not serve a model at the moment.");
  else logger.warn(fields, "A channel failed.");
}

function toLogFields({ channel, key, upstreamModel }: Route): {
  readonly channel: string;
  readonly key?: number;
  readonly upstreamModel: string;
} {
  return { channel: channel.id, ...(channel.keys.length > 1 && { key: key.index }), upstreamModel };
}
