import type { Cooldown } from "../types.js";
import type { Awaitable } from "../util/promise-like.js";

/** A number of things that may happen in a window of time: requests, or images. */
export interface WindowLimit {
  /** What is counted; names the limit in headers. */
  readonly name: "requests" | "images";
  /** Whose count it is, such as `["requests","me"]`. Counts of one key are shared by all of the caller's requests. */
  readonly key: string;
  /** So many in a window. */
  readonly limit: number;
  /** A window begins with the first count in it and lasts for so many milliseconds. */
  readonly windowMs: number;
  /** How many of them this request takes. */
  readonly cost: number;
}

/** A number of requests that may run at once. */
export interface ConcurrencyLimit {
  readonly key: string;
  readonly limit: number;
  /** A place that is not given back, since its process died, is free again after so many milliseconds. */
  readonly leaseMs: number;
}

/** A request that carries an `Idempotency-Key`. */
export interface IdempotencyClaim {
  /** Caller, path and the client's key, as one. */
  readonly key: string;
  /** The same for requests that ask for the same. */
  readonly fingerprint: string;
  /** A claim that is never finished, since its process died, ends after so many milliseconds. */
  readonly leaseMs: number;
}

/** An answer that can be given again. */
export interface StoredResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What is left of a {@link WindowLimit} after the request, or at its refusal. */
export interface WindowState {
  /** At least 0. */
  readonly remaining: number;
  /** Until the window ends. */
  readonly resetMs: number;
}

/** What one request asks of the state that gateways share. */
export interface AdmissionTicket {
  /** The request's id. Names its places. */
  readonly id: string;
  /**
   * Whose request it is. The keys of its windows, its places and its claim are this caller's and no other's, so that
   * a store that is spread over nodes can have them on one. Any text.
   */
  readonly caller: string;
  readonly windows: readonly WindowLimit[];
  readonly concurrency: readonly ConcurrencyLimit[];
  readonly idempotency?: IdempotencyClaim | undefined;
  /** The channels (or keys of channels) whose cooldowns are asked for. */
  readonly channels: readonly string[];
}

/** What became of a ticket. Of a refused one nothing is taken. */
export type AdmissionDecision =
  | {
      readonly kind: "admitted";
      /** In the order of the ticket. */
      readonly windows: readonly WindowState[];
      /** By channel; only those that cool. */
      readonly cooldowns: Readonly<Record<string, Cooldown>>;
    }
  | {
      /** A window limit is reached. The first of the ticket that is. */
      readonly kind: "limited";
      readonly limit: WindowLimit;
      readonly windows: readonly WindowState[];
    }
  /** Too many run at once. */
  | { readonly kind: "crowded"; readonly limit: ConcurrencyLimit; readonly windows: readonly WindowState[] }
  /** The same request was answered before. */
  | { readonly kind: "replay"; readonly answer: StoredResponse }
  /** It was answered before, and the answer was not kept. */
  | { readonly kind: "not_replayable" }
  /** Another request had this idempotency key. */
  | { readonly kind: "conflict" }
  /** The same request is running. */
  | { readonly kind: "running" };

/**
 * How an admitted request ended, for its idempotency key. A response is stored, or the key marked, only if the
 * request was charged or its outcome is unknown.
 */
export type IdempotencyEnding =
  /** Answer a repeat with this. */
  | { readonly kind: "keep"; readonly answer: StoredResponse; readonly ttlMs: number }
  /** Refuse a repeat: the answer is a stream or too large. */
  | { readonly kind: "mark"; readonly ttlMs: number }
  /** Let a repeat run: nothing was made. */
  | { readonly kind: "forget" };

/**
 * The state on which the gateways of one service agree before a request is sent: limits, idempotency
 * keys and channel cooldowns. In one process it is memory; the implementation of a fleet is
 * one round trip for `admit` and one for `finish`.
 *
 * A store that cannot be reached throws or rejects; the gateway then refuses the request with a 503, and logs it. One
 * that does so with a `GatewayError` chose the answer and has told the operator itself.
 */
export interface AdmissionStore {
  /** All checks of a request in one atomic step: everything the ticket names is taken, or nothing. */
  admit(ticket: AdmissionTicket): Awaitable<AdmissionDecision>;
  /** Gives the places of an admitted ticket back and ends its idempotency claim. Window counts stay. */
  finish(ticket: AdmissionTicket, ending: IdempotencyEnding): Awaitable<void>;
  /** Tells the other gateways that a channel cools, or with `undefined` that it is well. */
  setCooldown(channel: string, cooldown: Cooldown | undefined): Promise<void>;
}

/** A store outside of the process: every answer is a promise. */
export interface AsyncAdmissionStore extends AdmissionStore {
  admit(ticket: AdmissionTicket): Promise<AdmissionDecision>;
  finish(ticket: AdmissionTicket, ending: IdempotencyEnding): Promise<void>;
}
