import type { Hold, Holds } from "../billing/hold.js";
import type { BilledRequest } from "../billing/settled-record.js";
import type { ChannelHealth } from "../channels/health.js";
import { GatewayError, isGatewayError } from "../errors.js";
import type { GatewayResponse, HeaderReader } from "../http.js";
import type { Logger } from "../logger.js";
import type { ResolvedModel } from "../models/resolve-model.js";
import type { Caller, CallerLimits, ImageRequest } from "../types.js";
import type { JsonObject } from "../util/json.js";
import { isPromiseLike } from "../util/promise-like.js";
import {
  createClaim,
  createConflictError,
  createNotReplayableError,
  createRunningError,
  readIdempotencyKey,
} from "./idempotency.js";
import { addRateLimits, createCrowdedError, createLimitedError } from "./rate-limit-headers.js";
import type { CallLimits, LimitPlans } from "./rate-limits.js";
import type {
  AdmissionDecision,
  AdmissionRequest,
  AdmissionStore,
  IdempotencyOutcome,
  IdempotencyRequest,
  StoredResponse,
  WindowState,
} from "./store.js";

/** What admission needs of the gateway. */
export interface AdmissionParts {
  readonly holds: Holds;
  readonly logger: Logger;
  readonly admission: AdmissionStore;
  readonly limitPlans: LimitPlans;
  readonly health: ChannelHealth;
}

/** A request that asks to be let through to a provider. */
export interface Applicant {
  readonly request: ImageRequest;
  readonly caller: Caller;
  /** The caller's limits over those of the gateway. */
  readonly callerLimits: CallerLimits;
  readonly model: ResolvedModel;
  readonly billed: BilledRequest;
  readonly headers: HeaderReader;
  /** The body as it was read. */
  readonly fields: JsonObject;
  readonly keepAlive: (work: Promise<unknown>) => void;
}

/** What became of an applicant that was not refused. */
export type Admission =
  | { readonly kind: "replay"; readonly response: StoredResponse }
  | {
      readonly kind: "admitted";
      readonly hold: Hold;
      /** The headers of an answer, and how the limits stand. */
      addLimits(headers: GatewayResponse["headers"]): GatewayResponse["headers"];
      /** Whether a repeat may be asked for, so that the answer is of use later. */
      readonly isRepeatable: boolean;
      /** Gives the places back; once, when the request is over. Never rejects; nothing to wait for where it is done. */
      finish(outcome: IdempotencyOutcome): Promise<void> | undefined;
    };

/**
 * All that is asked of shared state before a request is sent: its idempotency key, the limits and the channels'
 * cooldowns in one call of the store, then the money in one call of the ledger.
 *
 * @throws GatewayError 400, 403, 409, 429, or 503 where store or ledger cannot be reached
 */
export async function admit(parts: AdmissionParts, applicant: Applicant): Promise<Admission> {
  const { caller, model, billed, keepAlive } = applicant;
  const { leaseMs } = model;
  const key = readIdempotencyKey(applicant.headers);
  const limits = findLimits(parts.limitPlans, applicant);
  const request: AdmissionRequest = {
    id: billed.id,
    caller: caller.id,
    windows: limits.windows,
    concurrency: limits.concurrency,
    idempotency: key === undefined ? undefined : await claim(applicant, key, leaseMs),
    channels: model.healthIds,
  };
  let decision: AdmissionDecision;
  try {
    const decided = parts.admission.admit(request);
    decision = isPromiseLike(decided) ? await decided : decided;
  } catch (cause) {
    throw toStoreError(cause, request, parts.logger);
  }
  if (decision.kind === "replay") return decision;
  if (decision.kind !== "admitted") throw toDecisionError(decision, limits);
  parts.health.merge(decision.cooldowns, request.channels);
  let hold: Hold;
  try {
    hold = await parts.holds.open(billed, { ttlMs: leaseMs, keepAlive });
  } catch (error) {
    // First: a client that asks for less at once finds its place and its key free.
    await finishTicket(parts, request, { kind: "forget" });
    throw error;
  }
  return new Admitted(parts, hold, { request, limits, windows: decision.windows });
}

/** What an admitted request asked for and got. */
interface Granted {
  readonly request: AdmissionRequest;
  readonly limits: CallLimits;
  readonly windows: readonly WindowState[];
}

/** A class, as each request has one for as long as its answer takes. The headers are written when it is there. */
class Admitted implements Extract<Admission, { kind: "admitted" }> {
  readonly kind = "admitted";
  readonly hold: Hold;
  readonly #parts: AdmissionParts;
  readonly #granted: Granted;

  constructor(parts: AdmissionParts, hold: Hold, granted: Granted) {
    this.hold = hold;
    this.#parts = parts;
    this.#granted = granted;
  }

  addLimits(headers: GatewayResponse["headers"]): GatewayResponse["headers"] {
    return addRateLimits({ ...headers }, this.#granted.limits, this.#granted);
  }

  get isRepeatable(): boolean {
    return this.#granted.request.idempotency !== undefined;
  }

  finish(outcome: IdempotencyOutcome): Promise<void> | undefined {
    return finishTicket(this.#parts, this.#granted.request, outcome);
  }
}

function findLimits(plans: LimitPlans, { caller, callerLimits, model, request }: Applicant): CallLimits {
  return plans.find({
    callerId: caller.id,
    callerLimits,
    model: model.entry,
    modelLimits: model.callerLimits,
    maxImages: request.maxImages,
    leaseMs: model.leaseMs,
  });
}

function claim(
  { caller, billed, fields }: Applicant,
  key: string,
  leaseMs: number,
): Promise<IdempotencyRequest> {
  return createClaim({ callerId: caller.id, path: billed.operation, key, fields, leaseMs });
}

function toStoreError(cause: unknown, request: AdmissionRequest, logger: Logger): GatewayError {
  if (isGatewayError(cause)) return cause;
  logger.error({ requestId: request.id, err: cause }, "The store of limits failed.");
  return new GatewayError(
    "gateway_unavailable",
    "This server cannot count its limits at the moment: try again.",
    { retryAfterSeconds: 5, cause },
  );
}

function finishTicket(
  { admission, logger }: AdmissionParts,
  request: AdmissionRequest,
  outcome: IdempotencyOutcome,
): Promise<void> | undefined {
  try {
    const finished = admission.finish(request, outcome);
    if (!isPromiseLike(finished)) return undefined;
    return Promise.resolve(finished).catch((error: unknown) => reportUnfinished(request, error, logger));
  } catch (error) {
    reportUnfinished(request, error, logger);
    return undefined;
  }
}

function reportUnfinished({ id }: AdmissionRequest, err: unknown, logger: Logger): void {
  logger.error({ requestId: id, err }, "The store of limits failed; its places lapse by themselves.");
}

/** A decision by which a request neither runs nor is answered again. */
export type Refusal = Exclude<AdmissionDecision, { kind: "admitted" | "replay" }>;

/**
 * What the client is told of a refusal.
 *
 * @param limits those of the request
 */
export function toDecisionError(refusal: Refusal, limits: CallLimits): GatewayError {
  switch (refusal.kind) {
    case "limited":
      return createLimitedError(limits, refusal.limit, refusal.windows);
    case "crowded":
      return createCrowdedError(limits, refusal.limit, refusal.windows);
    case "conflict":
      return createConflictError();
    case "running":
      return createRunningError();
    case "not_replayable":
      return createNotReplayableError();
  }
}
