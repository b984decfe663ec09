import type { BilledRequest } from "../billing/records.js";
import { findLeaseMs } from "../channels/channel.js";
import type { ChannelHealth } from "../channels/health.js";
import type { Pauses } from "../channels/pauses.js";
import { GatewayError, isGatewayError, unavailable } from "../errors.js";
import type { GatewayResponse, HeaderReader } from "../http.js";
import type { Logger } from "../logger.js";
import type { ResolvedModel } from "../models/resolve-model.js";
import type { Caller, CallerLimits, ImageRequest } from "../types.js";
import { callStore } from "../util/async.js";
import type { JsonObject } from "../util/json.js";
import { createIdempotencyRequest, readIdempotencyKey } from "./idempotency.js";
import { addRateLimits, createCrowdedError, createLimitedError } from "./rate-limit-headers.js";
import { type CallLimits, toCallLimits } from "./rate-limits.js";
import type {
  AdmissionDecision,
  AdmissionRequest,
  AdmissionStore,
  IdempotencyOutcome,
  StoredResponse,
  WindowState,
} from "./store.js";

/** The dependencies of {@link admit}. */
export interface AdmissionParts {
  readonly logger: Logger;
  readonly admission: AdmissionStore;
  readonly health: ChannelHealth;
  /** `undefined`: no channel can be paused. */
  readonly pauses: Pauses | undefined;
}

/** A call whose request is valid. */
export interface CallToAdmit {
  readonly request: ImageRequest;
  readonly caller: Caller;
  /** The caller's own limits merged with those of the gateway. */
  readonly callerLimits: CallerLimits;
  readonly model: ResolvedModel;
  readonly billed: BilledRequest;
}

/** What identifies a repeat of a request. */
export interface Repeatable {
  readonly headers: HeaderReader;
  /** Names the endpoint: the same idempotency key at another endpoint is another key. */
  readonly scope: string;
  /** The fields of the body. */
  readonly fields: JsonObject;
}

/** The stored response of an earlier call with the same idempotency key. */
interface StoredReplay {
  readonly kind: "replay";
  readonly response: StoredResponse;
}

/**
 * Which limits apply: all of them; for a task that is submitted, the rates; for a task that runs, the concurrency. The
 * idempotency key belongs to the submission. `continuation`: a task runs that its provider has already accepted. It goes
 * on although its channel was paused.
 */
export type LimitedMoment = "all" | "submission" | "run" | "continuation";

/**
 * Checks the idempotency key and the limits and reads cooldowns and pauses, in one call of the store.
 *
 * @param repeatable absent: the call has no idempotency key
 * @throws GatewayError 400, 409, 422 or 429; 503 if the store cannot be reached or all channels are paused
 */
export async function admit(
  parts: AdmissionParts,
  call: CallToAdmit,
  moment: LimitedMoment,
  repeatable?: Repeatable,
): Promise<StoredReplay | Admitted> {
  const limits = findLimits(call, moment);
  const idempotency = repeatable && findIdempotency(call, repeatable);
  const request: AdmissionRequest = {
    id: call.billed.id,
    caller: call.caller.id,
    windows: limits.windows,
    concurrency: limits.concurrency,
    idempotency: idempotency && (await idempotency),
    channels: call.model.cooldownIds,
  };
  const { pauses } = parts;
  const revision = pauses?.revision ?? 0;
  let decision: AdmissionDecision;
  try {
    decision = await parts.admission.admit(request);
  } catch (cause) {
    if (isGatewayError(cause)) throw cause;
    parts.logger.error({ requestId: request.id, err: cause }, "The admission store failed.");
    throw unavailable("This server cannot check its rate limits at the moment: try again.", cause);
  }
  if (decision.kind === "replay") return decision;
  if (decision.kind !== "admitted") throw toRefusalError(decision, limits);
  const { model } = call;
  parts.health.merge(decision.cooldowns, model.healthIds);
  pauses?.merge(decision.cooldowns, model.channels, revision);
  const admitted = new Admitted(parts, request, limits, decision.windows);
  if (moment !== "continuation" && pauses?.withoutPaused(model.channels).length === 0) {
    // Before the client gets the error, so that its next request finds the slot and the idempotency key free.
    await admitted.finish({ kind: "forget" });
    throw pauses.createError(model.name);
  }
  return admitted;
}

/** The limits that are checked at this moment. */
function findLimits(call: CallToAdmit, moment: LimitedMoment): CallLimits {
  const { caller, model } = call;
  const limits = toCallLimits({
    callerId: caller.id,
    callerLimits: call.callerLimits,
    model: model.entry,
    modelLimits: model.limits,
    maxImages: call.request.maxImages,
    leaseMs: findLeaseMsOf(call),
  });
  if (moment === "all") return limits;
  return moment === "submission" ? { ...limits, concurrency: [] } : { ...limits, windows: [] };
}

/** Returns a promise only if the request has a key. */
function findIdempotency(
  call: CallToAdmit,
  { headers, scope, fields }: Repeatable,
): Promise<AdmissionRequest["idempotency"]> | undefined {
  const key = readIdempotencyKey(headers);
  if (key === undefined) return undefined;
  const leaseMs = findLeaseMsOf(call);
  return createIdempotencyRequest({ callerId: call.caller.id, path: scope, key, fields, leaseMs });
}

/**
 * The lease of the slots, the idempotency key and the hold of a call, in milliseconds. The model's lease is for one upstream
 * call.
 */
export function findLeaseMsOf({
  model,
  request: { upstreamCalls },
}: Pick<CallToAdmit, "model" | "request">): number {
  return upstreamCalls === undefined ? model.leaseMs : findLeaseMs(model.channels, upstreamCalls);
}

type StoreParts = Pick<AdmissionParts, "admission" | "logger">;

/**
 * The permission to run. Call `finish` once, when the call is over. A class whose fields do not refer to the body of the
 * request, because each of thousands of open streams has one.
 */
export class Admitted {
  readonly kind = "admitted";
  readonly #parts: StoreParts;
  readonly #request: AdmissionRequest;
  readonly #limits: CallLimits;
  readonly #windows: readonly WindowState[];

  constructor(
    parts: StoreParts,
    request: AdmissionRequest,
    limits: CallLimits,
    windows: readonly WindowState[],
  ) {
    this.#parts = parts;
    this.#request = request;
    this.#limits = limits;
    this.#windows = windows;
  }

  /** What identifies a repeat of the call. `undefined` without an idempotency key. */
  get idempotency(): AdmissionRequest["idempotency"] {
    return this.#request.idempotency;
  }

  /** True if the call has an idempotency key. */
  get isRepeatable(): boolean {
    return this.#request.idempotency !== undefined;
  }

  /** Returns the headers with the state of the limits added. */
  addLimits(headers: GatewayResponse["headers"]): GatewayResponse["headers"] {
    return addRateLimits({ ...headers }, this.#limits, { windows: this.#windows });
  }

  /** Releases what the call has in the store. Never rejects. */
  finish(outcome: IdempotencyOutcome): Promise<void> {
    const { admission, logger } = this.#parts;
    const request = this.#request;
    return callStore(() => admission.finish(request, outcome)).catch((err: unknown) =>
      logger.error(
        { requestId: request.id, err },
        "The admission store failed; the slots of this request are free when their leases end.",
      ),
    );
  }
}

/** A decision that refuses the call. */
export type AdmissionRefusal = Exclude<AdmissionDecision, { kind: "admitted" | "replay" }>;

/** Requests take 19 to 60 s, and clients retry twice by themselves. */
const RUNNING_RETRY_SECONDS = 10;

/**
 * Returns the error that the client gets for a refusal.
 *
 * @param limits the limits of the call
 */
export function toRefusalError(refusal: AdmissionRefusal, limits: CallLimits): GatewayError {
  switch (refusal.kind) {
    case "limited":
      return createLimitedError(limits, refusal.limit, refusal.windows);
    case "crowded":
      return createCrowdedError(limits, refusal.limit, refusal.windows);
    case "conflict":
      return new GatewayError(
        "idempotency_conflict",
        "Another request was sent with this Idempotency-Key: send a new key, or the same request as before.",
        { shouldRetry: false },
      );
    case "running":
      return new GatewayError(
        "idempotency_in_progress",
        `The request with this Idempotency-Key is still running: try again in ${RUNNING_RETRY_SECONDS} s.`,
        { retryAfterSeconds: RUNNING_RETRY_SECONDS },
      );
    case "not_replayable":
      return new GatewayError(
        "idempotency_not_replayable",
        "The request with this Idempotency-Key has run, and its response is not stored (a stream, or too large). " +
          "Its images were charged, or its outcome is unknown. Send a new key to run it again; it can be charged again.",
        { shouldRetry: false },
      );
  }
}
