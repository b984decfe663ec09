import type { LedgerAbility } from "./ledger-ability.js";
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

/** A stored hold or record that a ledger cannot process. */
export interface EntryFailure {
  readonly id: string;
  readonly error: unknown;
}

/** The records to be delivered to `onUsage`, each at least once. */
export interface RecordOutbox {
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

/** Options of {@link MinimalLedger.sweep}. */
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
  /** What {@link KeptHoldStore.keepUpstream} stored. */
  readonly upstream: string;
}

/** Options of {@link KeptHoldStore.takeKept}. */
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
export interface MinimalLedger extends RecordOutbox {
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
   * A hold with something to continue, see {@link KeptHoldStore}, is lost only if its time is over.
   */
  sweep(options: SweepOptions): Promise<readonly UnresolvedRecord[]>;
  /** A caller's account; zeros for one that was never seen. */
  balance(caller: string): Promise<Balance>;
}

/**
 * Lets another process continue a request whose process died. The ledger itself has both methods, or neither: then the holds of
 * such requests are lost with their process.
 */
export interface KeptHoldStore {
  /**
   * Stores with a hold what another process needs to continue its request, if this process dies; opaque. Replaces what was
   * stored before. Holds that have ended, and those of other ledger objects and of tasks, are left alone.
   *
   * @throws RangeError if the string is not one that every ledger can keep, or is longer than 1 MiB
   */
  keepUpstream(id: string, upstream: string): Promise<void>;
  /**
   * Takes holds with something to continue whose process died, or that the sweep of an ending process left, the oldest
   * first. From now on they belong to this ledger object. With nothing to take it must cost very little.
   */
  takeKept(options: TakeKeptOptions): Promise<readonly KeptHold[]>;
}

/** Finds what lets another process continue a request. */
export const KEPT_HOLDS: LedgerAbility<KeptHoldStore> = { methods: ["keepUpstream", "takeKept"] };

/** A ledger of several processes that leaves out entries of its outbox which no process delivers. */
export interface OutboxReaders {
  /**
   * Says whether this process delivers entries of this kind, before its first hold. If it does, no process leaves them out from
   * then on. A kind for which this was not called counts as delivered.
   */
  setReader(kind: "record" | "alert", isRead: boolean): void;
}

/** Finds what leaves out entries that no process delivers. */
export const OUTBOX_READERS: LedgerAbility<OutboxReaders> = { methods: ["setReader"] };
