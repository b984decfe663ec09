import type { HoldEnd } from "../../billing/hold.js";
import type { ChannelHealth } from "../../channels/health.js";
import type { Pauses } from "../../channels/pauses.js";
import { GatewayError, isGatewayError, unavailable } from "../../errors.js";
import type { GatewayResponse } from "../../http.js";
import type { Admission, Admitted, LimitedMoment, Repeatable, Replayed } from "../../kernel/admission.js";
import type { NormalizedCall } from "../../kernel/normalized-call.js";
import type { Logger } from "../../logger.js";
import type { IdempotencyOptions } from "../../options/options.js";
import type { CallerLimits } from "../../types.js";
import { callStore } from "../../util/async.js";
import {
  conflictError,
  createIdempotencyRequest,
  readIdempotencyKey,
  renderReplay,
  toStoredResponse,
} from "./idempotency.js";
import {
  addRateLimits,
  createCrowdedError,
  createLimitedError,
  createOwnCrowdedError,
} from "./rate-limit-headers.js";
import { type CallLimits, mergeLimits, toCallLimits } from "./rate-limits.js";
import type {
  AdmissionDecision,
  AdmissionRequest,
  AdmissionStore,
  IdempotencyOutcome,
  WindowState,
} from "./store.js";

/** What {@link createAdmission} needs. */
export interface AdmissionParts {
  readonly logger: Logger;
  readonly admissionStore: AdmissionStore;
  readonly health: ChannelHealth;
  /** Returns `undefined` if no channel can be paused. */
  readonly pauses: () => Pauses | undefined;
  /** The limits of callers that have none of their own. */
  readonly limits: CallerLimits | undefined;
  readonly idempotency: IdempotencyOptions;
}

/**
 * Creates the admission of a gateway: it checks the idempotency key and the limits and reads cooldowns and pauses, in one call of
 * the store. A refusal is 400, 409, 422 or 429; 503 if the store cannot be reached or all channels are paused.
 */
export function createAdmission(parts: AdmissionParts): Admission {
  return {
    limitsOf: ({ limits }) => mergeLimits(limits, parts.limits),
    createCrowdedError: createOwnCrowdedError,
    admit: (call, moment, repeatable) => admit(parts, call, moment, repeatable),
  };
}

async function admit(
  parts: AdmissionParts,
  call: NormalizedCall,
  moment: LimitedMoment,
  repeatable?: Repeatable,
): Promise<Admitted | Replayed> {
  const limits = findLimits(call, moment);
  const idempotency = repeatable && findIdempotency(call, repeatable);
  const pauses = parts.pauses();
  const request: AdmissionRequest = {
    id: call.id,
    caller: call.caller.id,
    windows: limits.windows,
    concurrency: limits.concurrency,
    idempotency: idempotency && (await idempotency),
    channels: call.model.healthIds,
    pausesOf: pauses && call.model.channelIds,
  };
  const revision = pauses?.revision ?? 0;
  let decision: AdmissionDecision;
  try {
    decision = await parts.admissionStore.admit(request);
  } catch (cause) {
    if (isGatewayError(cause)) throw cause;
    parts.logger.error({ requestId: request.id, err: cause }, "The admission store failed.");
    throw unavailable("This server cannot check its rate limits at the moment: try again.", cause);
  }
  if (decision.kind === "replay")
    return { kind: "replay", response: renderReplay(decision.response, call.id) };
  if (decision.kind !== "admitted") throw toRefusalError(decision, limits);
  const { model } = call;
  parts.health.merge(decision.cooldowns, model.healthIds);
  pauses?.merge(decision.pauses, model.channelIds, revision);
  const admitted = new AdmittedCall(parts, request, limits, decision.windows);
  if (moment !== "continuation" && pauses?.withoutPaused(model.channels).length === 0) {
    // Before the client gets the error, so that its next request finds the slot and the idempotency key free.
    await admitted.release();
    throw pauses.createError(model.name);
  }
  return admitted;
}

/** The limits that are checked at this moment. */
function findLimits(call: NormalizedCall, moment: LimitedMoment): CallLimits {
  const { caller, model } = call;
  const limits = toCallLimits({
    callerId: caller.id,
    callerLimits: call.callerLimits,
    model: model.entry,
    modelLimits: model.limits,
    maxImages: call.request.maxImages,
    leaseMs: call.leaseMs,
  });
  if (moment === "all") return limits;
  return moment === "submission" ? { ...limits, concurrency: [] } : { ...limits, windows: [] };
}

/** Returns a promise only if the request has a key. */
function findIdempotency(
  { caller, leaseMs }: NormalizedCall,
  { headers, scope, fields }: Repeatable,
): Promise<AdmissionRequest["idempotency"]> | undefined {
  const key = readIdempotencyKey(headers);
  if (key === undefined) return undefined;
  return createIdempotencyRequest({ callerId: caller.id, path: scope, key, fields, leaseMs });
}

const FORGET: IdempotencyOutcome = { kind: "forget" };

/** A class whose fields do not refer to the body of the request, because each of thousands of open streams has one. */
class AdmittedCall implements Admitted {
  readonly kind = "admitted";
  readonly #parts: AdmissionParts;
  readonly #request: AdmissionRequest;
  readonly #limits: CallLimits;
  readonly #windows: readonly WindowState[];

  constructor(
    parts: AdmissionParts,
    request: AdmissionRequest,
    limits: CallLimits,
    windows: readonly WindowState[],
  ) {
    this.#parts = parts;
    this.#request = request;
    this.#limits = limits;
    this.#windows = windows;
  }

  get repeat(): AdmissionRequest["idempotency"] {
    return this.#request.idempotency;
  }

  get keptBytes(): number {
    return this.repeat === undefined ? 0 : this.#parts.idempotency.maxResponseBytes;
  }

  addLimits(headers: GatewayResponse["headers"]): GatewayResponse["headers"] {
    return addRateLimits({ ...headers }, this.#limits, { windows: this.#windows });
  }

  finish({ isNothingMade }: Pick<HoldEnd, "isNothingMade">, response?: GatewayResponse): Promise<void> {
    if (this.repeat === undefined || isNothingMade) return this.release();
    const ttlMs = this.#parts.idempotency.seconds * 1000;
    return this.#finish((response && this.#toKept(response)) ?? { kind: "mark", ttlMs });
  }

  keep(response: GatewayResponse): Promise<void> {
    return this.#finish(this.#toKept(response) ?? FORGET);
  }

  release(): Promise<void> {
    return this.#finish(FORGET);
  }

  #toKept(response: GatewayResponse): IdempotencyOutcome | undefined {
    const { seconds, maxResponseBytes } = this.#parts.idempotency;
    const stored = toStoredResponse(response, maxResponseBytes);
    return stored && { kind: "keep", response: stored, ttlMs: seconds * 1000 };
  }

  #finish(outcome: IdempotencyOutcome): Promise<void> {
    const { admissionStore, logger } = this.#parts;
    const request = this.#request;
    return callStore(() => admissionStore.finish(request, outcome)).catch((err: unknown) =>
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
      return conflictError();
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
