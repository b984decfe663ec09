import type { LedgerAbility } from "../../billing/ledger-ability.js";
import type { UsageRecord } from "../../billing/records.js";
import type { Decimal } from "../../util/decimal.js";
import type { SeriesKey, UsageHistory, UsageOutcome } from "./usage-history.js";
import type { Ledger, RecordFilter, ReportOptions } from "./usage-reports.js";

/** A time from `from` to, not including, `to`, in milliseconds since 1970. */
export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

/** What a {@link HistoryStore} adds up. */
export interface SumQuery {
  /** Spans of `hours` begin and end at whole hours of UTC. */
  readonly source: "hours" | "records";
  /** In order, without overlaps. */
  readonly spans: readonly TimeSpan[];
  /** `endUser` and tags only with the source `records`. `undefined`: the key is `""`. */
  readonly by: SeriesKey | undefined;
  /** Without a time. `endUser` and `tag` only with the source `records`. */
  readonly filter: RecordFilter;
  /** Only with the source `records`. `undefined`: all. */
  readonly outcomes: readonly UsageOutcome[] | undefined;
  /** Only these keys are told apart. What belongs to any other key has the key `null`. `undefined`: all are told apart. */
  readonly keys: readonly string[] | undefined;
  /** `countsOf` throws for more pairs of a span and a key than this, so a store need not read more of them. */
  readonly maxCounts: number;
}

/**
 * Returns the counts of a key in a span. The store adds to them. It may throw, and the store then stops.
 *
 * @param span the index of the span
 */
export type CountsOf = (span: number, key: string | null) => GrowingCounts;

/** Counts and sums that can be added up further. Those of successes only are `durationMs` and `durations`. */
export interface UsageCounts {
  readonly requests: number;
  readonly refused: number;
  readonly failed: number;
  readonly unresolved: number;
  readonly released: number;
  readonly images: number;
  readonly tokens: number;
  /** The sum in milliseconds. */
  readonly durationMs: number;
  /** How many took how long, see {@link DURATION_LIMITS}. */
  readonly durations: readonly number[];
  readonly charge: Decimal;
  /** Of the requests whose cost is known. Absent if there are none. */
  readonly costs?: CostCounts | undefined;
}

/** Sums of the requests whose cost is known. They can be added up further. */
export interface CostCounts {
  readonly requests: number;
  /** What they were charged. */
  readonly charge: Decimal;
  readonly cost: Decimal;
}

/** Counts that grow. */
export type GrowingCounts = {
  -readonly [Name in keyof UsageCounts]: Name extends "durations" ? number[] : UsageCounts[Name];
};

/** What a {@link HistoryStore} selects. */
export interface PageQuery {
  readonly filter: RecordFilter;
  readonly outcomes: readonly UsageOutcome[] | undefined;
  readonly sort: "time" | "charge" | "duration";
  readonly isDescending: boolean;
  readonly limit: number;
  /** The last record of the page before. Records are sorted by the value of `sort`, then by time, then by id. */
  readonly after: PageCursor | undefined;
}

/** The place of a record in the order of pages. */
export interface PageCursor {
  /** The charge as a decimal string, or the duration in whole milliseconds; `"0"` for `time`. */
  readonly value: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly id: string;
}

/**
 * What a ledger stores for its {@link UsageHistory}, see `createUsageHistory` of `@calotype/core/stores`: totals for each
 * hour, caller, model and channel, and the records. The totals are those of all records, pruned ones included: each is changed
 * in the transaction that stores, replaces or releases a record.
 */
export interface HistoryStore {
  /**
   * Adds up what the query selects. It may add to the same counts several times, and asks for no counts without requests. A
   * record that is stored or replaced in the meantime counts at most once.
   */
  sum(query: SumQuery, countsOf: CountsOf, options: ReportOptions): Promise<void>;
  list(query: PageQuery, options: ReportOptions): AsyncIterable<UsageRecord>;
  find(id: string): Promise<UsageRecord | undefined>;
}

/**
 * A ledger that also keeps totals. The ledgers of `@calotype/sqlite` and of `@calotype/postgres` do, and the one in memory
 * except on Workers. With any other ledger, the methods of `gateway.usage` that read totals throw a `GatewayError` `no_totals`.
 */
export interface HistoryLedger extends Ledger {
  readonly history: UsageHistory;
}

/** Finds the totals of a ledger. */
export const USAGE_HISTORY: LedgerAbility<UsageHistory> = {
  member: "history",
  methods: ["series", "page", "list", "find"],
};
