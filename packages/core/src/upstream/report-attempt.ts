import type { AttemptHistory } from "../channels/attempt-history.js";
import { createModelHealthId, type Route } from "../channels/channel.js";
import type { ChannelHealth, RouteAttempt, RouteChange } from "../channels/health.js";
import type { SafeAttemptObserver } from "../contract/observer.js";
import type { AttemptDetail, CooldownChange, StartedAttempt } from "../contract/telemetry.js";
import type { AttemptFailure } from "../families/failure.js";
import type { Logger } from "../logger.js";
import type { AttemptRecord } from "../types.js";
import type { ParsedResponse, PreparedAttempt } from "./attempt.js";
import { findShownMessage, hideContent, toUpstreamError } from "./failure.js";
import { readRequestId } from "./read.js";
import type { TransportResponse } from "./transport.js";

/** The result of an attempt. */
export interface AttemptResult {
  readonly route: Route;
  readonly response?: TransportResponse | undefined;
  /** Keys are redacted. `undefined`: the attempt succeeded. */
  readonly failure?: AttemptFailure | undefined;
  /** Set if the whole response has arrived. */
  readonly parsed?: ParsedResponse | undefined;
  /** The cooldown that the attempt started, extended or ended. */
  readonly change: RouteChange;
}

/** What telemetry learns of an attempt that begins. */
export function toStartedAttempt(
  { route: { channel, key, upstreamModel }, stored }: PreparedAttempt,
  { isProbe }: RouteAttempt,
  callIndex: number | undefined,
): StartedAttempt {
  return {
    channel: channel.id,
    key: key.index,
    family: channel.family.name,
    dialect: channel.dialectName,
    host: new URL(channel.baseUrl).host,
    upstreamModel,
    isProbe,
    call: callIndex,
    isContinued: stored !== undefined,
  };
}

/** Adds the headers of the telemetry to a request. They replace none, so that they cannot change what is sent. */
export function addHeaders(prepared: PreparedAttempt, { headers }: SafeAttemptObserver): PreparedAttempt {
  const { call } = prepared;
  if (headers === undefined || "kind" in call) return prepared;
  return { ...prepared, call: { ...call, headers: { ...headers, ...call.headers } } };
}

/** What telemetry learns of an attempt that has a result. */
export function toAttemptDetail(
  { route, failure, response, parsed, change }: AttemptResult,
  health: ChannelHealth,
): AttemptDetail {
  return {
    kind: failure?.kind,
    upstreamRequestId: failure === undefined ? response && readRequestId(response) : failure.requestId,
    isComplete: parsed !== undefined,
    cooldown: change.hasChanged ? toCooldownChange(route, change.scope, failure && health) : undefined,
  };
}

/** @param health `undefined` if the cooldown has ended */
function toCooldownChange(
  { channel, key, upstreamModel }: Route,
  scope: RouteChange["scope"],
  health: ChannelHealth | undefined,
): CooldownChange {
  const ofModel = createModelHealthId(key.healthId, upstreamModel);
  const id = scope === "channel" ? channel.healthId : scope === "model" ? ofModel : key.healthId;
  return { scope, until: health?.cooldownOf(id)?.until };
}

/** An attempt in the record of its request. */
export function toAttemptRecord(
  {
    route,
    failure,
    response,
    change,
    beganAt,
    durationMs,
  }: AttemptResult & Pick<Required<AttemptRecord>, "beganAt" | "durationMs">,
  health: ChannelHealth,
): AttemptRecord {
  const status = failure?.status ?? response?.status;
  const cooldown =
    failure && change.hasChanged ? toCooldownChange(route, change.scope, health).until : undefined;
  const known = { channel: route.channel.id, key: route.key.index };
  if (failure === undefined && status !== undefined) return { ...known, status, beganAt, durationMs };
  return {
    ...known,
    ...(status !== undefined && { status }),
    ...(failure !== undefined && { code: codeOf(failure) }),
    beganAt,
    durationMs,
    ...(cooldown !== undefined && { cooldownUntil: cooldown }),
  };
}

/** Returns the provider's code, or the gateway's code for a failure of this kind. */
export function codeOf(failure: AttemptFailure): string {
  return failure.code ?? toUpstreamError(failure).code;
}

/**
 * Remembers a failed attempt for the status of its channel. The refusal of a request because of its content counts as
 * a success, because the channel works.
 */
export function rememberFailure(
  history: AttemptHistory | undefined,
  { channel, key, upstreamModel }: Route,
  { failure, request, countedAt }: FailureToRemember,
): void {
  if (failure.kind === "content") {
    if (countedAt === undefined) history?.succeeded(channel.id);
    return;
  }
  const message = findShownMessage(failure);
  const shown = { ...failure, message: request === undefined ? message : hideContent(message, request) };
  const ofKey = channel.keys.length > 1 ? { key: key.index } : {};
  const ofRequest = request === undefined ? {} : { requestId: request.id };
  history?.failed(channel.id, { failure: shown, upstreamModel, ...ofKey, ...ofRequest }, countedAt);
}

interface FailureToRemember {
  /** Keys are redacted. */
  readonly failure: AttemptFailure;
  /** What the message must not quote. Absent for probes. */
  readonly request?: { readonly id: string; readonly prompt: string };
  /** When the attempt was remembered as a success, in milliseconds since 1970. Absent if it was not. */
  readonly countedAt?: number;
}

/** Logs that a channel serves a model again. */
export function logRecovery(route: Route, { scope, hasChanged }: RouteChange, logger: Logger): void {
  if (scope === "model" && hasChanged) logger.warn(toLogFields(route), "A channel serves a model again.");
}

/** Logs failures that only the operator can fix. Mistakes of the client are not logged. */
export function logFailure(
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
    // A provider that refuses a key has responded.
    const isUnsent = failure.cause !== undefined;
    logger.error(
      fields,
      isUnsent
        ? "A channel has no valid key, so nothing was sent."
        : "A channel's key or account was refused by its provider.",
    );
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
