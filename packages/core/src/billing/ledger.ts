import type { ClientSignal } from "../http.js";
import type { BudgetPeriod, PeriodSpan } from "./periods.js";
import type { HoldRecord, LostPolicy, SettledRecord, UnresolvedRecord, UsageRecord } from "./records.js";

/** The account of a caller; decimal strings. */
export interface Balance {
  /** The sum of the charges of its records. */
  readonly settled: string;
  /** The sum of its open holds. */
  readonly held: string;
}

/** The result of a hold. A refused hold changes nothing. */
export type HoldResult = { readonly ok: true } | { readonly ok: false; readonly balance: Balance };

/**
 * Selects records; an absent field selects all. The times are ISO 8601 with a zone, such as `2026-01-31T00:00:00Z`. A
 * ledger rejects any other time, also a date without a time, with a `RangeError`.
 */
export interface RecordFilter {
  readonly caller?: string | undefined;
  readonly model?: string | undefined;
  /** `""`: unresolved and released records, whose channel is not known. */
  readonly channel?: string | undefined;
  /** `""`: records without an end user. */
  readonly endUser?: string | undefined;
  /** Records with this value of this tag. With the value `""`, also those without the tag. */
  readonly tag?: { readonly key: string; readonly value: string } | undefined;
  /** Records of requests that arrived at this time or later … */
  readonly from?: string | undefined;
  /** … and before this time. */
  readonly to?: string | undefined;
}

/**
 * The key of totals. There is one line for each value; `day` is in UTC, such as `2026-01-31`. `period` is the budget period
 * of the records, see `UsageRecord.period`. `tag:team` is the value of the tag `team`.
 */
export type TotalsKey = "caller" | "model" | "channel" | "day" | "period" | "endUser" | `tag:${string}`;

/** One line of totals. */
export interface UsageTotal {
  /**
   * The caller, model, channel, day, period, end user or value of the tag; `""` for the channel of unresolved and released
   * requests, and for requests without the last three.
   */
  readonly key: string;
  /** The number of records. */
  readonly requests: number;
  /** The number of images in the responses. */
  readonly images: number;
  /** The exact sum of the charges, a decimal string; those that are `null` count as 0. */
  readonly charge: string;
  /** How many of the records are unresolved: the outcome of their requests is not known. */
  readonly unresolved: number;
}

/** Options of a report. */
export interface ReportOptions {
  /**
   * Ends the report when it is aborted, with a `DOMException` named `AbortError`. An `AbortSignal`, or the signal of a request.
   * Default: the report runs to its end.
   */
  readonly signal?: ClientSignal | undefined;
}

/** Reads balances and records. */
export interface UsageReports {
  /** A caller's account; zeros for one that was never seen. */
  balance(caller: string): Promise<Balance>;
  /** Records in the order of their time, then id; read as they are asked for. */
  records(filter?: RecordFilter, options?: ReportOptions): AsyncIterable<UsageRecord>;
  /** Sums, in the order of the key. */
  totals(by: TotalsKey, filter?: RecordFilter, options?: ReportOptions): Promise<readonly UsageTotal[]>;
}

/** A stored hold or record that a ledger cannot process. */
export interface EntryFailure {
  readonly id: string;
  readonly error: unknown;
}

/** Delivers records to the operator's function, each at least once. */
export interface Outbox {
  /**
   * Returns records that were not delivered yet, in the order in which they were stored, and leases them. During the
   * lease no other call returns them. Records that are not marked as delivered by then are returned again.
   *
   * @param limit the maximum number of records
   * @param leaseMs the lease in milliseconds
   * @param onUnreadable called for each stored record that cannot be read. Such a record is left out, and tried again
   *   after the lease.
   */
  takeUndelivered(
    limit: number,
    leaseMs: number,
    onUnreadable?: (failure: EntryFailure) => void,
  ): Promise<readonly UsageRecord[]>;
  /** Marks these versions of these records as delivered. */
  markDelivered(records: readonly UsageRecord[]): Promise<void>;
}

/** Options of {@link Ledger.sweep}. */
export interface SweepOptions {
  /** What lost requests cost: nothing, or their hold. */
  readonly onLost: LostPolicy;
  /**
   * Whether the sweep also ends the open holds of this ledger object, because its process is about to end. Default
   * false.
   */
  readonly own?: boolean | undefined;
  /**
   * Called for each hold that cannot be ended, after the others were ended. Without it, the sweep then rejects with an
   * `AggregateError`.
   */
  readonly onFailure?: ((failure: EntryFailure) => void) | undefined;
}

/** A hold whose process died, and what it stored to be continued. */
export interface KeptHold {
  readonly hold: HoldRecord;
  /** What {@link Ledger.keepUpstream} stored. */
  readonly upstream: string;
}

/** Options of {@link Ledger.takeKept}. */
export interface TakeKeptOptions {
  /** The largest number of holds, at least 1. */
  readonly limit: number;
  /** How long the holds last from now on at least, in milliseconds. A hold that lasts longer is not shortened. */
  readonly ttlMs: number;
}

/** What a ledger says of a settlement. A ledger of version 0.1 says nothing. */
export interface SettleResult {
  /** True if a sweep had ended the hold before, so that the charge is not covered by it. The record is marked `late`. */
  readonly isLate: boolean;
}

/**
 * Keeps the money: each hold is settled or released, once. Every method is atomic. When its promise resolves, its
 * effect is durable, as far as the implementation promises that.
 *
 * If the ledger cannot be reached, its methods reject. A request whose hold fails gets a 503.
 *
 * An id has at most one record. A later state replaces an earlier one, and the record is then delivered again:
 *
 * | The record is | after `release` | after `settle` |
 * | --- | --- | --- |
 * | `unresolved` | `released`, charge `"0"` | `settled` |
 * | `released` | stays | `settled` |
 * | `settled` | stays | stays: the first one counts |
 */
export interface Ledger extends UsageReports, Outbox {
  /**
   * Sets money aside if `settled + held + amount ≤ budget`, in one step with the check; `null` counts as 0. With a `period`,
   * the sums are those of the period that contains the time of the ledger, and the hold, its charge and every later
   * correction count in that period. The sums over all time count every hold.
   * A second hold of an id that is known changes nothing and is `ok`. If this rejects, the hold may still have been made,
   * until `release` is called.
   *
   * @throws RangeError if a name has more than 512 bytes, and for whatever else `checkHold` refuses. Nothing is held.
   */
  hold(hold: HoldRecord): Promise<HoldResult>;
  /**
   * Ends a hold with its charge and keeps the record. A second call for an id changes nothing. If a sweep came first,
   * the record replaces the unresolved one, the balance is corrected, and the record is delivered again.
   *
   * @throws RangeError if a name has more than 512 bytes, and for whatever else `checkRecord` refuses
   */
  settle(record: SettledRecord): Promise<SettleResult | undefined | void>;
  /**
   * Ends the hold of a request that reached no provider, without a record. If a sweep came first, the unresolved record
   * becomes a `ReleasedRecord` with charge `"0"`, the balance is corrected, and the record is delivered again.
   * Nothing changes if the request was settled, or is unknown. A hold that failed before is not made afterwards.
   */
  release(id: string): Promise<void>;
  /**
   * Ends lost holds: holds whose time is over, and holds of processes known to be dead. Each becomes an unresolved
   * record that is charged nothing or its hold. Returns the new records, sorted by time, then by id. If a hold cannot
   * be ended, the others are still ended.
   *
   * A hold with something to continue, see {@link keepUpstream}, is lost only if its time is over.
   */
  sweep(options: SweepOptions): Promise<readonly UnresolvedRecord[]>;
  /**
   * Stores with a hold what another process needs to continue its request, if this process dies; opaque. Replaces what was
   * stored before. Holds that have ended, and those of other ledger objects and of tasks, are left alone. A ledger has both
   * this method and {@link takeKept}, or neither: then such holds are lost with their process.
   *
   * @throws RangeError if the string is not one that every ledger can keep, or is longer than 1 MiB
   */
  keepUpstream?(id: string, upstream: string): Promise<void>;
  /**
   * Takes holds with something to continue whose process died, or that the sweep of an ending process left, the oldest
   * first. From now on they belong to this ledger object. With nothing to take it must cost very little.
   */
  takeKept?(options: TakeKeptOptions): Promise<readonly KeptHold[]>;
}

/** A caller's account in one period. */
export interface PeriodBalance extends Balance, PeriodSpan {
  /** The id of the caller. */
  readonly caller: string;
}

/** The account of a caller in a period, or over all time. */
export interface CallerBalance extends Balance, Partial<Pick<PeriodSpan, "from" | "to">> {}

/** Selects period balances; an absent field selects all. */
export interface PeriodFilter {
  readonly caller?: string | undefined;
  /** Periods with this unit. */
  readonly unit?: BudgetPeriod["unit"] | undefined;
  /** The largest number of balances, from 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
}

/** The charges of a caller reached a part of its budget. */
export interface BudgetAlert {
  /** The same for each delivery of this alert. Each caller, period and threshold has its own. */
  readonly id: string;
  /** The id of the caller. */
  readonly caller: string;
  /** In percent of the budget. */
  readonly threshold: BudgetThreshold;
  /** The period; absent for a budget over all time. */
  readonly period?: (BudgetPeriod & PeriodSpan) | undefined;
  /** The budget, a decimal string. */
  readonly budget: string;
  /** The charges when the threshold was reached, a decimal string. */
  readonly settled: string;
  /** When the threshold was reached, by the clock of the ledger: ISO 8601 in UTC. */
  readonly time: string;
}

/** In percent. */
export type BudgetThreshold = 50 | 80 | 100;

/**
 * Keeps the balances of periods beside those over all time. The ledgers in memory, of `@calotype/sqlite` and of
 * `@calotype/postgres` have one, as the member `budgets`. A ledger without it ignores `HoldRecord.period`; the gateway then
 * refuses budgets with a period.
 */
export interface BudgetStore {
  /** A caller's account in the period that contains the present time of the ledger. Zeros if it has none. */
  balance(caller: string, period: BudgetPeriod): Promise<PeriodBalance>;
  /**
   * The accounts of several callers, in their order: in the period that contains the present time of the ledger, or over all
   * time without a period. Zeros for a caller that has none. Absent: they are read one by one.
   *
   * @param callers at most 1,000
   */
  balances?(callers: readonly string[], period: BudgetPeriod | undefined): Promise<readonly CallerBalance[]>;
  /**
   * The accounts of past and present periods in which money was held or charged, the newest first, then by caller. They are
   * kept for good.
   */
  list(filter?: PeriodFilter): Promise<readonly PeriodBalance[]>;
  /**
   * Returns alerts that were not delivered yet, the oldest first, and leases them. During the lease no other call returns
   * them. Alerts that are not marked as delivered by then are returned again. An alert is written in the transaction of the
   * charge that reached its threshold, once for each caller, period and threshold.
   *
   * @param limit the maximum number of alerts
   * @param leaseMs the lease in milliseconds
   */
  takeAlerts(limit: number, leaseMs: number): Promise<readonly BudgetAlert[]>;
  markAlertsDelivered(alerts: readonly BudgetAlert[]): Promise<void>;
  /**
   * Calls the listener when this process has written an alert. Not every alert is reported: also look now and then. Returns the
   * function that ends this. A listener must not throw.
   */
  readonly watch: (listener: () => void) => () => void;
}

/** A ledger that also keeps the balances of periods. */
export interface BudgetLedger extends Ledger {
  readonly budgets: BudgetStore;
}
