import type { Commit } from "../billing/commit.js";
import type { SentTo } from "../billing/outcome.js";
import type { AttemptHistory } from "../channels/attempt-history.js";
import { type Channel, findJobs, isConfiguredModel, type Route } from "../channels/channel.js";
import type { ChannelHealth, RouteAttempt, RouteChange } from "../channels/health.js";
import { isRefusal } from "../channels/health-record.js";
import type { Pauses } from "../channels/pauses.js";
import type { RetryBudgets } from "../channels/retry-budget.js";
import { planOnly, planRoutes, type RankChannels, type RoutePlan } from "../channels/select.js";
import type { SafeAttemptObserver, SafeCallObserver } from "../contract/observer.js";
import { GatewayError, isGatewayError } from "../errors.js";
import type { AttemptFailure } from "../families/failure.js";
import type { ResolvedModel } from "../models/resolve-model.js";
import type { Redaction } from "../redact.js";
import type { AttemptRecord, ImageRequest, Usage } from "../types.js";
import { type Awaitable, isPromiseLike } from "../util/async.js";
import type { ByteCount } from "../util/held-bytes.js";
import type { Writable } from "../util/writable.js";
import {
  type AttemptOutcome,
  AttemptPreparation,
  hideUpstreamModel,
  type ParsedResponse,
  type PrepareContext,
  type PreparedAttempt,
  sendAttempt,
} from "./attempt.js";
import { hideContent, mayHaveMadeImage, maySendAgain, redactFailure, toUpstreamError } from "./failure.js";
import type { CallMarks, ImageMarking } from "./image-marks.js";
import type { JobParts } from "./provider-job.js";
import {
  type AttemptResult,
  addHeaders,
  codeOf,
  logFailure,
  logRecovery,
  rememberFailure,
  toAttemptDetail,
  toAttemptRecord,
  toStartedAttempt,
} from "./report-attempt.js";
import { findSkipped } from "./skipped.js";
import type { StoredJob, StoredJobs } from "./stored-jobs.js";
import type { TransportResponse } from "./transport.js";

/** What dispatch needs of the gateway. */
export interface DispatchParts extends JobParts {
  readonly health: ChannelHealth;
  readonly pauses: Pauses | undefined;
  /** `undefined`: channels are chosen by their priority and weight. */
  readonly rankChannels?: RankChannels | undefined;
  readonly history: AttemptHistory | undefined;
  readonly retryBudgets: RetryBudgets;
  /** Redacts keys in what a provider said. */
  readonly redact: Redaction;
  /** `undefined`: images are not marked. */
  readonly marks?: ImageMarking | undefined;
}

/** The request to send. */
export interface DispatchRequest extends PrepareContext {
  /** The id of the client's request. */
  readonly id: string;
  readonly model: ResolvedModel;
  /** Stores the jobs of providers with the hold. Absent: only this process can wait for them. */
  readonly storedJobs?: StoredJobs | undefined;
  /** Observes the call. `undefined` without telemetry. */
  readonly observer?: SafeCallObserver | undefined;
  /** The index of the upstream call, if the request takes several. */
  readonly callIndex?: number | undefined;
  /** Set for the probe of one key of a channel. */
  readonly probe?: Probe | undefined;
  /** Counts the bytes of the response while they are held. */
  readonly bytes: ByteCount;
}

/** How one key of a channel is tried out. */
export interface Probe {
  /** The only route that is tried, also if it is paused or cools down. */
  readonly route: Route;
  /** Learns why the attempt failed. Keys are redacted. */
  readonly onFailure: (failure: AttemptFailure) => void;
}

/** A channel responded with a 2xx status. */
export interface UpstreamSuccess {
  readonly ok: true;
  readonly channel: Channel;
  readonly sentTo: SentTo;
  readonly response: TransportResponse;
  /** Set if the whole body has arrived, is short, and is JSON. Then the body need not be read. */
  readonly parsed?: ParsedResponse | undefined;
  /** Marks the images of the response. `undefined`: they are not marked. */
  readonly marks?: CallMarks | undefined;
  /**
   * Reports a response that broke off or cannot be used to the channel's health, the log and the record. Call it before
   * the call is settled.
   */
  readonly fail: (failure: AttemptFailure) => void;
  /** Set for a probe, and with telemetry. Call it when the call is settled, whether or not the response failed. */
  readonly end?: () => void;
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
  /** True if an earlier process sent the request, and it cannot be found out what was made. Default false. */
  readonly isUnknown?: boolean | undefined;
  /** What the provider charges although there is no image. Default: it reported nothing. */
  readonly usage?: Usage | undefined;
}

/**
 * Sends a request to one channel after another until one responds with success, or no other channel may be tried.
 * After the client has disconnected no further attempt begins; an attempt in progress runs to its end.
 *
 * @param commit the hold of the call, without which nothing is sent
 */
export async function dispatch(
  sent: DispatchRequest,
  commit: Commit,
  parts: DispatchParts,
): Promise<UpstreamSuccess | UpstreamRefusal> {
  const { model, client, request, storedJobs, probe, callIndex = 0 } = sent;
  const routes = probe === undefined ? planRoutes(model, parts, request) : planOnly(probe.route);
  const attempts: AttemptRecord[] = [];
  let hasReached = false;
  let isNothingMade = true;
  let worst: { readonly failure: AttemptFailure; readonly route: Route } | undefined;
  const preparation = new Preparations(routes, sent);
  // What an earlier process submitted for this request: then nothing is sent.
  const stored = storedJobs?.earlier && (storedJobs.earlier.get(callIndex) ?? "lost");
  const continued = stored && continueAttempt(stored, sent);
  if (stored !== undefined && continued === undefined) return toLost(stored);
  parts.retryBudgets.countRequest(model.entry);
  const first = continued ?? preparation.next();
  let prepared = isPromiseLike(first) ? await first : first;
  let usage: Usage | undefined;
  while (prepared !== undefined) {
    const { route } = prepared;
    if (sent.observer !== undefined && prepared.stored === undefined) {
      for (const skipped of findSkipped(model, route, { ...parts, attempts })) {
        sent.observer.routeSkipped(skipped);
      }
    }
    const isRepeated = !isNothingMade;
    const attempt = new Attempt(prepared, sent, parts);
    const outcome = await attempt.send(commit);
    if (outcome.failure === undefined) {
      attempt.succeed(outcome.response, outcome.parsed);
      attempts.push(attempt.report());
      const { openProbe, observed, parsed, marks } = attempt;
      const { response } = outcome;
      const last = { route, attempts, isRepeated, response, parsed, marks, openProbe, observed };
      return toSuccess(last, sent, parts);
    }
    const { response, accepted } = outcome;
    const failure = attempt.fail(outcome.failure, response);
    attempts.push(attempt.report());
    if (failure.kind !== "unreachable") hasReached = true;
    if (accepted === undefined ? mayHaveMadeImage(failure.kind) : !accepted.isNothingMade) {
      isNothingMade = false;
    }
    const isWorst = worst === undefined || weigh(failure) >= weigh(worst.failure);
    if (isWorst || accepted !== undefined) worst = { failure, route };
    usage = accepted?.usage;
    const mayTryNext = accepted === undefined && planRetry(routes, attempt);
    const found = mayTryNext ? preparation.next() : undefined;
    const next = isPromiseLike(found) ? await found : found;
    const isAllowed =
      next !== undefined &&
      !client.signal.aborted &&
      (isRetryFree(attempt) || parts.retryBudgets.take(model.entry));
    // An error with status 200 that is not retried: the client gets this response.
    if (!isAllowed && response !== undefined && worst?.failure === failure) {
      const { marks } = attempt;
      return toSuccess({ route, attempts, isRepeated, response, marks }, sent, parts);
    }
    prepared = isAllowed ? next : undefined;
  }
  // The channel whose failure the client sees, so that channel, status and code of the record belong together.
  const sentTo = worst !== undefined && hasReached ? toSentTo(worst.route, attempts) : undefined;
  const error =
    worst === undefined
      ? (preparation.unfit ?? findUnsentError(model, parts))
      : toUpstreamError(worst.failure);
  return { ok: false, sentTo, attempts, error, isNothingMade, usage };
}

/** Prepares one attempt after another, for the channels that can take the request. */
class Preparations {
  /** Why the first of the other channels could not take the request. */
  unfit: GatewayError | undefined;
  readonly #routes: RoutePlan;
  readonly #preparation: AttemptPreparation;

  constructor(routes: RoutePlan, sent: DispatchRequest) {
    this.#routes = routes;
    this.#preparation = new AttemptPreparation(sent);
  }

  next(): Awaitable<PreparedAttempt | undefined> {
    const route = this.#routes.next();
    if (route === undefined) return undefined;
    try {
      const attempt = this.#preparation.prepare(route);
      if (!isPromiseLike(attempt)) return attempt;
      return attempt.then(undefined, (error: unknown) => this.#skip(route, error));
    } catch (error) {
      return this.#skip(route, error);
    }
  }

  #skip({ channel }: Route, error: unknown): Awaitable<PreparedAttempt | undefined> {
    if (!isGatewayError(error)) throw error;
    this.unfit ??= error;
    this.#routes.skip(channel);
    return this.next();
  }
}

/** The attempt that an earlier process began. `undefined`: its channel is not in the options any more. */
function continueAttempt(
  stored: StoredJob | "lost",
  { model, request }: Pick<DispatchRequest, "model" | "request">,
): PreparedAttempt | undefined {
  if (stored === "lost") return undefined;
  const channel = model.channels.find(
    ({ id, dialect }) => id === stored.channel && findJobs(dialect) !== undefined,
  );
  // A new key of the same account may ask for the job too.
  const key = channel?.keys.find(({ healthId }) => healthId === stored.key) ?? channel?.keys[0];
  if (channel === undefined || key === undefined) return undefined;
  const route: Route = { channel, key, upstreamModel: stored.upstreamModel };
  return { route, request, call: { kind: "broken" }, stored };
}

/** A request that an earlier process sent, and that cannot be continued. */
function toLost(stored: StoredJob | "lost"): UpstreamRefusal {
  const { channel, upstreamModel } = stored === "lost" ? { channel: "", upstreamModel: "" } : stored;
  const error = new GatewayError(
    "outcome_unknown",
    "The server that sent this request ended before the provider responded. Images may have been made. The request is " +
      "not sent again.",
  );
  const sentTo: SentTo = { channel, upstreamModel, attempts: [] };
  return { ok: false, sentTo, attempts: [], error, isNothingMade: false, isUnknown: true };
}

/** The error if no attempt was begun. The channels may have been paused since the request was admitted. */
function findUnsentError(model: ResolvedModel, { pauses }: DispatchParts): GatewayError {
  const isPaused = model.channels.length > 0 && pauses?.withoutPaused(model.channels).length === 0;
  return isPaused ? pauses.createError(model.name) : toUpstreamError({ kind: "unreachable" });
}

const UNCHANGED: RouteChange = { scope: "request", hasChanged: false };

/** One attempt: it sends the request once, and reports the result to the channel's health, the log and the telemetry. */
class Attempt implements AttemptResult {
  readonly route: Route;
  /** Milliseconds since 1970. */
  readonly beganAt: number;
  /** Milliseconds until the head of the response, or until all of a short response, had arrived. */
  durationMs = 0;
  change = UNCHANGED;
  response: TransportResponse | undefined;
  failure: AttemptFailure | undefined;
  parsed: ParsedResponse | undefined;
  /** Set for a probe whose response has not ended. */
  openProbe: RouteAttempt | undefined;
  /** Observes the attempt. It has ended if the attempt failed. `undefined` without telemetry. */
  readonly observed: SafeAttemptObserver | undefined;
  /** Marks the images of the response. `undefined`: they are not marked. */
  readonly marks: CallMarks | undefined;
  readonly #prepared: PreparedAttempt;
  readonly #sent: DispatchRequest;
  readonly #parts: DispatchParts;
  readonly #tried: RouteAttempt;

  constructor(prepared: PreparedAttempt, sent: DispatchRequest, parts: DispatchParts) {
    const { route } = prepared;
    this.route = route;
    this.beganAt = parts.now();
    this.#prepared = prepared;
    this.#sent = sent;
    this.#parts = parts;
    this.#tried = parts.health.begin(route, isConfiguredModel(route.channel, sent.model));
    this.observed = sent.observer?.attemptStarted(toStartedAttempt(prepared, this.#tried, sent.callIndex));
    this.marks = parts.marks && openMarks(parts.marks, prepared, sent);
  }

  /** True if it finds out whether a channel, key or model works again after a cooldown. */
  get isProbe(): boolean {
    return this.#tried.isProbe;
  }

  send(commit: Commit): Promise<AttemptOutcome> {
    const { observed } = this;
    const prepared = this.#prepared;
    if (observed === undefined) return this.#send(prepared, commit);
    return observed.run(() => this.#send(addHeaders(prepared, observed), commit));
  }

  #send(attempt: PreparedAttempt, commit: Commit): Promise<AttemptOutcome> {
    const { logger, storedJobs, callIndex = 0 } = this.#sent;
    const { marks } = this;
    const { transport } = this.#parts;
    const parts = marks === undefined ? this.#parts : { ...this.#parts, transport: marks.wrap(transport) };
    const observer = this.observed;
    const jobs = findJobs(attempt.route.channel.dialect);
    if (jobs === undefined) return sendAttempt(attempt, parts.transport, { logger, observer });
    const storeJob = storedJobs && ((job: StoredJob) => storedJobs.add(callIndex, job));
    const context = { logger, observer, storeJob, abandoned: commit.ended };
    // Most gateways have no such provider.
    return import("./provider-job.js").then(({ runProviderJob }) =>
      runProviderJob({ attempt, protocol: jobs, parts, context }),
    );
  }

  succeed(response: TransportResponse, parsed: ParsedResponse | undefined): void {
    const { route } = this;
    const tried = this.#tried;
    this.#parts.history?.succeeded(route.channel.id);
    this.response = response;
    this.parsed = parsed;
    // The status 200 of a stream does not end a probe: the first event may be an error.
    if (tried.isProbe && parsed === undefined) this.openProbe = tried;
    else {
      this.change = tried.succeeded();
      logRecovery(route, this.change, this.#sent.logger);
    }
  }

  /**
   * @param response set if the error came with a 2xx status
   * @returns the failure, without keys
   */
  fail(cause: AttemptFailure, response: TransportResponse | undefined): AttemptFailure {
    const { route } = this;
    const { id, request, logger, probe } = this.#sent;
    const { redact, history } = this.#parts;
    const redacted = redactFailure(cause, redact);
    probe?.onFailure(redacted);
    const failure = hideModelIn(redacted, route, request);
    this.response = response;
    this.failure = failure;
    this.change = this.#tried.failed(cause);
    logFailure(route, hideContentIn(failure, request), { change: this.change, logger });
    rememberFailure(history, route, {
      failure,
      ...(probe === undefined && { request: { id, prompt: request.prompt } }),
    });
    return failure;
  }

  /** Returns the record of the attempt, which has ended. */
  report(): AttemptRecord {
    const { health, now } = this.#parts;
    // The clock may be set back during the attempt.
    this.durationMs = Math.max(0, now() - this.beganAt);
    const record = toAttemptRecord(this, health);
    const { observed } = this;
    observed?.responded(record, toAttemptDetail(this, health));
    if (this.failure !== undefined) observed?.ended();
    return record;
  }
}

/** Removes what the provider's message quotes of the request. */
function hideContentIn(failure: AttemptFailure, request: Pick<ImageRequest, "prompt">): AttemptFailure {
  const { message } = failure;
  return message === undefined ? failure : { ...failure, message: hideContent(message, request) };
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

/** Returns true if the request may be sent again after this attempt. */
function planRetry(routes: RoutePlan, { route, failure, isProbe }: Attempt): boolean {
  if (failure === undefined || !maySendAgain(failure.kind, route.channel.retryUnsafe)) return false;
  routes.failed(route, failure, isProbe);
  return true;
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
  return { channel: channel.id, upstreamModel, attempts, costs: channel.costs };
}

function openMarks(
  marking: ImageMarking,
  { route: { channel }, request }: PreparedAttempt,
  { id, bytes }: Pick<DispatchRequest, "id" | "bytes">,
): CallMarks {
  return marking.open({ id, channel: channel.id, dialect: channel.dialect, request, bytes });
}

interface LastAttempt {
  readonly route: Route;
  readonly attempts: AttemptRecord[];
  /** See {@link SentTo.isRepeated}. */
  readonly isRepeated: boolean;
  readonly response: TransportResponse;
  readonly parsed?: ParsedResponse | undefined;
  readonly marks?: CallMarks | undefined;
  readonly openProbe?: RouteAttempt | undefined;
  readonly observed?: SafeAttemptObserver | undefined;
}

/** Separate from `dispatch` so that its closures do not retain the request body while the response is read. */
function toSuccess(
  { route, attempts, isRepeated, response, parsed, marks, openProbe, observed }: LastAttempt,
  { id, model, logger, request, probe: ofKey }: DispatchRequest,
  { health, history, redact, now }: DispatchParts,
): UpstreamSuccess {
  const countedAt = now();
  // Not the request, which has the images.
  const { prompt } = request;
  const isConfigured = isConfiguredModel(route.channel, model);
  let probe = openProbe;
  const takeProbe = (): RouteAttempt | undefined => {
    const taken = probe;
    probe = undefined;
    return taken;
  };
  const { channel } = route;
  const success: Writable<UpstreamSuccess> = {
    ok: true,
    channel,
    sentTo: { ...toSentTo(route, attempts), isRepeated, marks },
    response,
    parsed,
    marks,
    fail(failure) {
      const change = (takeProbe() ?? health.begin(route, isConfigured)).failed(failure);
      const redacted = redactFailure(failure, redact);
      ofKey?.onFailure(redacted);
      const last = attempts.pop();
      if (last !== undefined) {
        const failed = { ...last, code: codeOf(redacted) };
        attempts.push(failed);
        observed?.failed(failed, toAttemptDetail({ route, failure: redacted, change }, health));
      }
      const shown = { status: last?.status, ...redacted };
      logFailure(route, hideContentIn(shown, { prompt }), { change, logger });
      rememberFailure(history, route, {
        failure: shown,
        countedAt,
        ...(ofKey === undefined && { request: { id, prompt } }),
      });
    },
  };
  if (openProbe === undefined && observed === undefined) return success;
  success.end = () => {
    const change = takeProbe()?.succeeded();
    if (change !== undefined) logRecovery(route, change, logger);
    observed?.ended();
  };
  return success;
}
