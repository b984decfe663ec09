import type { LedgerAbility } from "../../billing/ledger-ability.js";
import type { ChannelPause } from "../../contract/channel-state.js";
import type { Cooldown } from "../../types.js";

/** A limit on requests or images in a window of time. */
export interface WindowLimit {
  /** What is counted. It names the limit in headers. */
  readonly name: "requests" | "images";
  /** Names the count, such as `["requests","me"]`. All requests with the same key share one count. */
  readonly key: string;
  /** The largest count in a window. */
  readonly limit: number;
  /** A window begins with the first count in it, and has this length in milliseconds. */
  readonly windowMs: number;
  /** What this request adds to the count. */
  readonly cost: number;
}

/** A limit on requests that run at the same time. Each running request has a slot. */
export interface ConcurrencyLimit {
  readonly key: string;
  readonly limit: number;
  /** A slot that is not released, because its process died, is free again after this time, in milliseconds. */
  readonly leaseMs: number;
}

/** The idempotency key of a request. */
export interface IdempotencyRequest {
  /** Identifies the caller, the path and the client's key together. */
  readonly key: string;
  /** Equal for requests with the same content. */
  readonly fingerprint: string;
  /** A key whose request does not finish, because its process died, is free again after this time, in milliseconds. */
  readonly leaseMs: number;
}

/** A response that is kept for a repeated request. */
export interface StoredResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The state of a {@link WindowLimit} after the request was admitted or refused. */
export interface WindowState {
  /** At least 0. */
  readonly remaining: number;
  /** Milliseconds until the window ends. */
  readonly resetMs: number;
}

/** What one call needs from the state that gateways share. */
export interface AdmissionRequest {
  /** The request's id. Its slots have this name. */
  readonly id: string;
  /**
   * The caller's id; any string. The keys of windows, slots and idempotency belong to this caller only, so a store on
   * several nodes can keep them on one node.
   */
  readonly caller: string;
  readonly windows: readonly WindowLimit[];
  readonly concurrency: readonly ConcurrencyLimit[];
  readonly idempotency?: IdempotencyRequest | undefined;
  /** Health ids of the channels, keys and models whose cooldowns the call needs. */
  readonly channels: readonly string[];
  /** Ids of the channels whose pauses the call needs. Absent: of none. */
  readonly pausesOf?: readonly string[] | undefined;
}

/** Whether a call is admitted. If it is not, the store has counted and taken nothing for it. */
export type AdmissionDecision =
  | {
      readonly kind: "admitted";
      /** In the order of the request's windows. */
      readonly windows: readonly WindowState[];
      /** By health id. Contains only those that cool. */
      readonly cooldowns: Readonly<Record<string, Cooldown>>;
      /** By the id of the channel. Contains only channels that are paused. Absent: there are none. */
      readonly pauses?: Readonly<Record<string, ChannelPause>> | undefined;
    }
  | {
      /** A window has no room for the cost. `limit` is the first such limit of the request. */
      readonly kind: "limited";
      readonly limit: WindowLimit;
      readonly windows: readonly WindowState[];
    }
  /** All slots of a concurrency limit are taken. */
  | { readonly kind: "crowded"; readonly limit: ConcurrencyLimit; readonly windows: readonly WindowState[] }
  /** The same request has finished, and its response is stored. */
  | { readonly kind: "replay"; readonly response: StoredResponse }
  /** The same request has finished, and its response is not stored. */
  | { readonly kind: "not_replayable" }
  /** Another request used this idempotency key. */
  | { readonly kind: "conflict" }
  /** The same request is still running. */
  | { readonly kind: "running" };

/** Which counts of a caller to read. The keys are those of its limits. */
export interface CountsRequest {
  /** The caller's id, as in {@link AdmissionRequest}. */
  readonly caller: string;
  readonly windows: readonly Pick<WindowLimit, "key" | "windowMs">[];
  readonly concurrency: readonly Pick<ConcurrencyLimit, "key">[];
}

/** What a store has counted so far. */
export interface Counts {
  /** In the order of the request's windows. A window that has not begun has the count 0 and no time left. */
  readonly windows: readonly {
    /** Can exceed the limit, if the operator has lowered the limit. */
    readonly count: number;
    /** Milliseconds until the window ends. */
    readonly resetMs: number;
  }[];
  /** How many slots are taken, in the order of the request's concurrency limits. */
  readonly slots: readonly number[];
}

/**
 * What the store remembers for the idempotency key of an admitted request that has ended. It remembers the key only if
 * the request was charged or if its outcome is unknown.
 */
export type IdempotencyOutcome =
  /** Store the response and send it to repeated requests. */
  | { readonly kind: "keep"; readonly response: StoredResponse; readonly ttlMs: number }
  /** Refuse repeated requests, because the response is a stream or too large. */
  | { readonly kind: "mark"; readonly ttlMs: number }
  /** Let a repeated request run, because nothing was made. */
  | { readonly kind: "forget" };

/**
 * The state that all gateways of a service share: limits, idempotency keys, cooldowns and pauses. A single process keeps it in
 * memory. A store for several processes needs one round trip for `admit` and one for `finish`.
 *
 * A store that cannot be reached rejects. The gateway then logs the error and responds with 503. If the store rejects
 * with a `GatewayError`, the client gets that error, and the store has told the operator itself.
 */
export interface AdmissionStore {
  /** Makes all checks of a call in one atomic step. It takes everything that the call needs, or nothing. */
  admit(request: AdmissionRequest): Promise<AdmissionDecision>;
  /** Releases the slots of an admitted request and its idempotency key. The counts of its windows stay. */
  finish(request: AdmissionRequest, outcome: IdempotencyOutcome): Promise<void>;
  /**
   * Reads the counts of a caller, and changes nothing. Absent: how close callers are to their limits is not known. A store for
   * several processes needs one round trip.
   */
  readCounts?(request: CountsRequest): Promise<Counts>;
  /** Tells the other gateways that a channel, key or model cools, or with `undefined` that it works again. */
  setCooldown(channel: string, cooldown: Cooldown | undefined): Promise<void>;
  /**
   * Keeps the pause of a channel until its end, or with `undefined` ends it. Absent: each process knows only its own pauses.
   */
  setPause?(channel: string, pause: ChannelPause | undefined): Promise<void>;
  /**
   * Rejects if the store cannot do its work at the moment. Called for `GET {base}/healthz`, about once a second at most, and
   * before a pause of a channel or its end is confirmed. Absent: the gateway calls `admit` with a request that counts and
   * takes nothing.
   */
  ping?(): Promise<void>;
}

/** What a request that may wait for its turn tells the store. */
export interface Turn {
  /** How long the request has waited so far, in milliseconds. Of several requests the one that has waited longest is next. */
  readonly waitedMs: number;
  /**
   * How long the store keeps the place of the request without another call, in milliseconds: the process of the request may
   * have died. 0: the request does not wait if it is refused.
   */
  readonly leaseMs: number;
}

/**
 * An ability of an {@link AdmissionStore}: it hands out turns to requests that wait for a limit, in the order in which they came,
 * across all processes that share the store. Without it, each process keeps the order of its own requests.
 */
export interface TurnStore {
  /**
   * As `admit`, but the request is also refused while another request of the caller has a place at one of its limits and has waited
   * longer. A request that a limit refuses gets a place at that limit in place of the one that it had, and keeps its idempotency key.
   * The key has the lease of the request. If the request is admitted, or does not wait, the store forgets its place.
   */
  admitInTurn(request: AdmissionRequest, turn: Turn): Promise<AdmissionDecision>;
  /** The request waits no longer, and was not admitted: the store forgets its place, and frees its idempotency key. */
  giveUpTurn(request: AdmissionRequest): Promise<void>;
}

/** Finds {@link TurnStore}. */
export const TURN_STORE: LedgerAbility<TurnStore> = { methods: ["admitInTurn", "giveUpTurn"] };
