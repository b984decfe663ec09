import type { HoldEnd } from "../../billing/hold.js";
import type { ChannelHealth } from "../../channels/health.js";
import type { Pauses } from "../../channels/pauses.js";
import { GatewayError, isGatewayError, unavailable } from "../../errors.js";
import type { GatewayResponse } from "../../http.js";
import type {
  Admission,
  Admitted,
  LimitedMoment,
  Repeatable,
  Replayed,
  WaitingCall,
} from "../../kernel/admission.js";
import type { NormalizedCall } from "../../kernel/normalized-call.js";
import type { Logger } from "../../logger.js";
import type { IdempotencyOptions } from "../../options/options.js";
import type { CallerLimits } from "../../types.js";
import { type Awaitable, callStore } from "../../util/async.js";
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
  Turn,
  TurnStore,
  WindowState,
} from "./store.js";
import { findWait, type Wait, type WaitingRequests } from "./waiting-requests.js";

/** What {@link createAdmission} needs. */
export interface AdmissionParts {
  readonly logger: Logger;
  readonly admissionStore: AdmissionStore;
  /** Its turns, or those of this process. */
  readonly turnStore: TurnStore;
  readonly waiting: WaitingRequests;
  /** How many requests of one caller may wait. */
  readonly maxWaiting: number;
  readonly now: () => number;
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
    maxWaiting: ({ waitSeconds }) => (waitSeconds ? parts.maxWaiting : 0),
    createCrowdedError: createOwnCrowdedError,
    admit: (call, moment, repeatable) => admit(parts, call, moment, repeatable),
  };
}

async function admit(
  parts: AdmissionParts,
  call: NormalizedCall,
  moment: LimitedMoment,
  repeatable?: Repeatable,
): Promise<Admitted | Replayed | WaitingCall> {
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
  const asked = { parts, call, moment, request, limits };
  if (limits.waits === true && moment === "all" && parts.waiting.hasRoom(request.caller)) {
    const line = parts.waiting.findLine(limits);
    if (line !== undefined) return { kind: "waiting", turn: waitForTurn(asked, line) };
  }
  const revision = pauses?.revision ?? 0;
  let decision: AdmissionDecision;
  try {
    const { admissionStore, turnStore } = parts;
    decision = await (limits.waits === true
      ? turnStore.admitInTurn(request, NEW)
      : admissionStore.admit(request));
  } catch (cause) {
    throw toStoreError(cause, asked);
  }
  if (decision.kind === "admitted" || decision.kind === "replay" || limits.waits !== true || moment !== "all")
    return conclude(asked, decision, revision);
  const wait = parts.waiting.hasRoom(request.caller) ? findWait(decision, limits, 0) : undefined;
  if (wait === undefined) throw toRefusalError(decision, limits);
  return { kind: "waiting", turn: waitForTurn(asked, wait) };
}

/** A call that has come now, and has no place. */
const NEW: Turn = { waitedMs: 0, leaseMs: 0 };

/** A call about which the store is asked. */
interface AskedCall {
  readonly parts: AdmissionParts;
  readonly call: NormalizedCall;
  readonly moment: LimitedMoment;
  readonly request: AdmissionRequest;
  readonly limits: CallLimits;
}

async function waitForTurn(asked: AskedCall, wait: Wait): Promise<Admitted | Replayed> {
  const { parts, call, request, limits } = asked;
  const begunAt = parts.now();
  let revision = 0;
  try {
    const decision = await parts.waiting.wait(
      {
        request,
        limits,
        client: call.client,
        ask(tried, turn) {
          revision = parts.pauses()?.revision ?? 0;
          return callStore(() => parts.turnStore.admitInTurn(tried, turn));
        },
      },
      wait,
    );
    if (decision.kind === "admitted") call.billed.waitedMs = Math.max(0, parts.now() - begunAt);
    return await conclude(asked, decision, revision);
  } catch (cause) {
    throw toStoreError(cause, asked);
  } finally {
    call.observer?.waited(Math.max(0, parts.now() - begunAt));
  }
}

function toStoreError(cause: unknown, { parts, request }: AskedCall): GatewayError {
  if (isGatewayError(cause)) return cause;
  parts.logger.error({ requestId: request.id, err: cause }, "The admission store failed.");
  return unavailable("This server cannot check its rate limits at the moment: try again.", cause);
}

/** @param revision that of the pauses when the store was asked */
function conclude(
  asked: AskedCall,
  decision: AdmissionDecision,
  revision: number,
): Awaitable<Admitted | Replayed> {
  const { parts, call, moment, request, limits } = asked;
  if (decision.kind === "replay")
    return { kind: "replay", response: renderReplay(decision.response, call.id) };
  if (decision.kind !== "admitted") throw toRefusalError(decision, limits);
  const pauses = parts.pauses();
  const { model } = call;
  parts.health.merge(decision.cooldowns, model.healthIds);
  pauses?.merge(decision.pauses, model.channelIds, revision);
  const admitted = new AdmittedCall(parts, request, limits, decision.windows);
  if (moment === "continuation" || pauses?.withoutPaused(model.channels).length !== 0) return admitted;
  // Before the client gets the error, so that its next request finds the slot and the idempotency key free.
  return admitted.release().then(() => {
    throw pauses.createError(model.name);
  });
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
  if (moment === "submission") return { ...limits, concurrency: [] };
  // A task has a queue of its own: it takes a slot when one is free, also while requests wait.
  return { windows: [], concurrency: limits.concurrency };
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
    const { admissionStore, logger, waiting } = this.#parts;
    const request = this.#request;
    const finished = callStore(() => admissionStore.finish(request, outcome)).catch((err: unknown) =>
      logger.error(
        { requestId: request.id, err },
        "The admission store failed; the slots of this request are free when their leases end.",
      ),
    );
    return waiting.count === 0 ? finished : finished.then(() => waiting.wake(request.concurrency));
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
