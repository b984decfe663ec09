import type { HoldEnd } from "../billing/hold.js";
import type { GatewayError } from "../errors.js";
import type { GatewayResponse, HeaderReader } from "../http.js";
import type { Caller, CallerLimits } from "../types.js";
import type { JsonObject } from "../util/json.js";
import type { NormalizedCall } from "./normalized-call.js";

/** Decides whether a call may run: limits, and the idempotency key of its request. */
export interface Admission {
  /** The caller's own limits merged with those of the gateway. */
  limitsOf(caller: Pick<Caller, "limits">): CallerLimits;
  /** How many requests of a caller with these limits may wait in this process for others of the caller to end. */
  maxWaiting(limits: CallerLimits): number;
  /** The error of a caller that has this many requests at once in this process. */
  createCrowdedError(concurrent: number): GatewayError;
  /** Checks a valid call before it has a hold. Only at the moment `all` it may wait. @throws GatewayError if it is refused */
  admit(
    call: NormalizedCall,
    moment: LimitedMoment,
    repeatable?: Repeatable,
  ): Promise<Admitted | Replayed | WaitingCall>;
}

/** The call is over a limit, and waits. `turn` rejects with a GatewayError if its time is over. */
export type WaitingCall = { readonly kind: "waiting"; readonly turn: Promise<Admitted | Replayed> };

/**
 * Which limits apply: all of them; for a task that is submitted, the rates; for a task that runs, the concurrency. The
 * idempotency key belongs to the submission. `continuation`: a task runs that its provider has already accepted. It goes
 * on although its channel was paused.
 */
export type LimitedMoment = "all" | "submission" | "run" | "continuation";

/** What identifies a repeat of a request. */
export interface Repeatable {
  readonly headers: HeaderReader;
  /** Names the endpoint: the same idempotency key at another endpoint is another key. */
  readonly scope: string;
  /** The fields of the body. */
  readonly fields: JsonObject;
}

/** The response to a repeat of an earlier request. */
export type Replayed = { readonly kind: "replay"; readonly response: GatewayResponse };

/** The permission to run. Call `finish`, `keep` or `release` once, when the call is over. None of them rejects. */
export interface Admitted {
  readonly kind: "admitted";
  /** What a repeat of the request has again. `undefined` without an idempotency key. */
  readonly repeat: { readonly key: string; readonly fingerprint: string } | undefined;
  /** A response of up to this many bytes must be complete, because it is stored for a repeat. */
  readonly keptBytes: number;
  /** Returns the headers with the state of the limits added. */
  addLimits(headers: GatewayResponse["headers"]): GatewayResponse["headers"];
  /** @param response the complete response, for a repeat. Absent: it was a stream. */
  finish(end: Pick<HoldEnd, "isNothingMade">, response?: GatewayResponse): Promise<void>;
  /** The call goes on elsewhere. A repeat gets this response, or runs if it cannot be stored. */
  keep(response: GatewayResponse): Promise<void>;
  /** A repeat may run. */
  release(): Promise<void>;
}
