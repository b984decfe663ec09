import type { Operation } from "../image-request.js";
import type { Awaitable } from "../promise-like.js";
import type { SettledRecord, UnresolvedRecord, UsageRecord } from "./usage-record.js";

/** Money set aside before a request is sent, and what is known of the request at that moment. */
export interface Hold {
  /** The request's id, and of the record that the hold becomes. No two requests have one id. */
  readonly id: string;
  /** When the request came in, ISO 8601 in UTC. */
  readonly time: string;
  readonly caller: string;
  readonly group: string;
  readonly model: string;
  readonly operation: Operation;
  /** The worst case, a decimal string; `null` without `billing`. */
  readonly amount: string | null;
  /** The caller's budget, a decimal string: all that it may ever spend. Absent: no bound. */
  readonly budget?: string | undefined;
  /** Milliseconds since 1970. A hold that nobody ended by then is lost, see {@link Ledger.sweep}. */
  readonly expiresAt: number;
}

/** What a caller spent and has under way; decimal strings. */
export interface Balance {
  /** The sum of the charges of its records. */
  readonly settled: string;
  /** The sum of its open holds. */
  readonly held: string;
}

/** Whether money could be set aside. A refused hold leaves nothing behind. */
export type HoldResult = { readonly ok: true } | { readonly ok: false; readonly balance: Balance };

/** What becomes of the money of a request whose process died, or whose end nobody told. */
export type LostPolicy = "release" | "charge";

/**
 * Selects records; an absent field selects all. The times are ISO 8601 with a zone, such as `2026-01-31T00:00:00Z`. A
 * ledger rejects any other time, also a date without a time, with a `RangeError`.
 */
export interface RecordFilter {
  readonly caller?: string | undefined;
  readonly model?: string | undefined;
  readonly channel?: string | undefined;
  /** Records of requests that arrived at this time or later … */
  readonly from?: string | undefined;
  /** … and before this time. */
  readonly to?: string | undefined;
}

/** What totals are grouped by: one line for each value, `day` in UTC as `2026-01-31`. */
export type TotalsKey = "caller" | "model" | "channel" | "day";

/** One line of totals. */
export interface UsageTotal {
  /** The caller, model, channel or day; `""` for the channel of unresolved requests. */
  readonly key: string;
  readonly requests: number;
  readonly images: number;
  /** The exact sum of the charges, a decimal string; those that are `null` count as 0. */
  readonly charge: string;
  readonly unresolved: number;
}

/** Reading what was used. */
export interface UsageReports {
  /** A caller's account; zeros for one that was never seen. */
  balance(caller: string): Promise<Balance>;
  /** Records in the order of their time, then id; read as they are asked for. */
  records(filter?: RecordFilter): AsyncIterable<UsageRecord>;
  /** Sums, in the order of the key. */
  totals(by: TotalsKey, filter?: RecordFilter): Promise<readonly UsageTotal[]>;
}

/** Records on their way to the operator's own function, each at least once. */
export interface Outbox {
  /**
   * Records that were not delivered yet, in the order in which they were kept, at most `limit`. For `leaseMs` nobody else
   * is given them; those not marked by then are given out again.
   */
  takeUndelivered(limit: number, leaseMs: number): Awaitable<readonly UsageRecord[]>;
  /** Exactly these versions of these records were delivered. */
  markDelivered(records: readonly UsageRecord[]): Awaitable<void>;
}

/**
 * Where the money is kept: hold → settled | released, each once. Every method is atomic, and durable
 * when it returns or its promise resolves, as far as the implementation promises it.
 *
 * A ledger that cannot be reached throws or rejects; a request whose hold fails is refused with a 503.
 */
export interface Ledger extends UsageReports, Outbox {
  /**
   * Sets money aside where `settled + held + amount ≤ budget`, in one step with the check; `null` counts as 0.
   * A second hold of an id that is known changes nothing and is `ok`.
   */
  hold(hold: Hold): Awaitable<HoldResult>;
  /**
   * Ends a hold with its charge and keeps the record. A second call for an id changes nothing. Where a sweep
   * came first, the record takes the place of the unresolved one and is delivered anew.
   */
  settle(record: SettledRecord): Awaitable<void>;
  /** Ends a hold without a trace: its id is as if it never was. Of one that was settled, swept or never made, nothing changes. */
  release(id: string): Awaitable<void>;
  /**
   * Ends the lost holds: those past their `expiresAt`, and those of processes known to be dead. Each becomes an
   * unresolved record, charged nothing or its hold. Returns the new records.
   *
   * @param options.own also the open holds of this ledger object, for a process that is about to end
   */
  sweep(options: {
    readonly onLost: LostPolicy;
    readonly own?: boolean;
  }): Promise<readonly UnresolvedRecord[]>;
}

/** A ledger outside of the process, or on a disk: every answer is a promise. */
export interface AsyncLedger extends Ledger {
  hold(hold: Hold): Promise<HoldResult>;
  settle(record: SettledRecord): Promise<void>;
  release(id: string): Promise<void>;
  takeUndelivered(limit: number, leaseMs: number): Promise<readonly UsageRecord[]>;
  markDelivered(records: readonly UsageRecord[]): Promise<void>;
}
