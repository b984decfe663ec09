import type { Decimal } from "../util/decimal.js";
import type { Ledger, RecordFilter, ReportOptions, UsageReports } from "./ledger.js";
import type { UsageRecord } from "./records.js";

/**
 * How a request ended, for reports:
 *
 * - `succeeded`: a status below 400, and no error after the head of the response
 * - `refused`: a status from 400 to 499, for example for content that the provider does not make
 * - `failed`: any other status, or an error after the head of the response
 * - `unresolved`: the outcome is not known, see {@link UnresolvedRecord}
 * - `released`: it was unresolved, and reached no provider, see {@link ReleasedRecord}
 *
 * A request that was refused before it reached a provider has no record and counts nowhere.
 */
export type UsageOutcome = "succeeded" | "refused" | "failed" | "unresolved" | "released";

/** What some requests used. */
export interface UsageSums {
  /** The sum of the five outcomes. */
  readonly requests: number;
  /** Responses with a status below 400, and no error after their head. */
  readonly succeeded: number;
  /** Responses with a status from 400 to 499. */
  readonly refused: number;
  /** Responses with any other status, or with an error after their head. */
  readonly failed: number;
  /** Requests whose outcome is not known. */
  readonly unresolved: number;
  /** Requests that were unresolved, and turned out to have reached no provider. */
  readonly released: number;
  /** The number of images in the responses. */
  readonly images: number;
  /** The exact sum of the charges, a decimal string. */
  readonly charge: string;
  /** All tokens that the providers reported, those of input included. */
  readonly tokens: number;
  /**
   * The time from arrival to the end of the upstream response, of the requests that succeeded, in milliseconds. Absent if
   * none did. The mean is exact. The median and the 95th percentile are estimates from a histogram: above a second usually
   * within 10 %, and at most 26 % off. Those above 512 seconds are shown as 512 seconds.
   */
  readonly meanMs?: number;
  /** The median of the same times, estimated. */
  readonly medianMs?: number;
  /** The 95th percentile of the same times, estimated. */
  readonly p95Ms?: number;
}

/** What the lines of a series are. `tag:team` has a line for each value of the tag `team`. */
export type SeriesKey = "caller" | "model" | "channel" | "endUser" | `tag:${string}`;

/** Selects the requests of a series, and says how to group them. An absent field of {@link RecordFilter} selects all. */
export interface SeriesQuery extends RecordFilter {
  /** The beginning of the period, ISO 8601 with a zone. It is included. */
  readonly from: string;
  /** The end of the period, ISO 8601 with a zone. It is not included. */
  readonly to: string;
  /** Default: the whole period is one bucket. A week begins on Monday. Hours are those of UTC. */
  readonly bucket?: "hour" | "day" | "week" | "month" | undefined;
  /** The IANA name of the time zone of days, weeks and months. Default `"UTC"`. */
  readonly timeZone?: string | undefined;
  /** Requests with one of these outcomes. Default: all. */
  readonly outcomes?: readonly UsageOutcome[] | undefined;
  /** Default: one line for all requests. */
  readonly by?: SeriesKey | undefined;
  /** The largest number of lines, from 1 to 1,000. Default 50. */
  readonly limit?: number | undefined;
}

/** One line of a series. */
export interface UsageLine {
  /** The caller, model, channel, end user or value of the tag; `""` for requests without one, and without `by`. */
  readonly key: string;
  /** Of the whole period. */
  readonly sums: UsageSums;
  /** One entry for each of {@link UsageSeries.buckets}. */
  readonly points: readonly UsageSums[];
}

/** Usage over time. */
export interface UsageSeries {
  /** The first begins at `from`, the last ends at `to`: ISO 8601 in UTC. */
  readonly buckets: readonly { readonly from: string; readonly to: string }[];
  /** All requests; its key is `""`. */
  readonly total: UsageLine;
  /** The lines with the highest charges, then the most requests. Empty if there were no requests. */
  readonly lines: readonly UsageLine[];
  /** The sum of the lines beyond the limit, and their number. Absent if there are none. */
  readonly others?: UsageLine & { readonly count: number };
}

/** Selects and sorts records. An absent field of {@link RecordFilter} selects all. */
export interface RecordQuery extends RecordFilter {
  /** Records with one of these outcomes. Default: all. */
  readonly outcomes?: readonly UsageOutcome[] | undefined;
  /**
   * Default `"time"`, of the arrival. The other two read every record that the filter selects: name a period. `duration` is
   * 0 for a request without a known outcome.
   */
  readonly sort?: "time" | "charge" | "duration" | undefined;
  /** Default `"descending"`: the newest or the highest first. */
  readonly order?: "descending" | "ascending" | undefined;
  /** The size of the page, from 1 to 500. Default 50. */
  readonly limit?: number | undefined;
  /** `next` of the page before this one. The other fields must be the same. */
  readonly cursor?: string | undefined;
}

/** A page of records. */
export interface RecordPage {
  readonly records: readonly UsageRecord[];
  /** The cursor of the next page. Absent: there is none. */
  readonly next?: string;
}

/** Reads usage over time, and single records. */
export interface UsageHistory {
  /**
   * Usage over time, in buckets. Whole hours are read from totals, which the ledger writes with each settlement and keeps for
   * good. The parts of hours at the edges of a bucket, and series by `endUser`, tag or outcome, are read from the records. So
   * such a part lacks the records that were pruned.
   *
   * For the change over the previous period, call it twice.
   *
   * @throws RangeError for a field that cannot be used, for buckets before 1970 or more than 1,000 of them, for more than
   * 50,000 points (`limit` × buckets), for a period of more than 92 days that is read from records, and if there are more than
   * 100,000 different callers, models, channels, end users or values of the tag. `gateway.usage`: `GatewayError` `no_totals`
   * if the ledger keeps no totals.
   * @example
   * ```ts
   * import type { Gateway } from "@calotype/core";
   *
   * async function showMay(gateway: Gateway): Promise<void> {
   *   const { buckets, lines } = await gateway.usage.series({
   *     from: "2026-05-01T00:00:00+09:00",
   *     to: "2026-06-01T00:00:00+09:00",
   *     bucket: "day",
   *     timeZone: "Asia/Tokyo",
   *     by: "model",
   *   });
   *   for (const { key, sums, points } of lines) {
   *     console.log(key, sums.charge, sums.medianMs);
   *     for (const [at, { images }] of points.entries()) console.log(buckets[at]?.from, images);
   *   }
   * }
   * ```
   */
  series(query: SeriesQuery, options?: ReportOptions): Promise<UsageSeries>;
  /**
   * A page of records, the newest first. A record that is stored while pages are read is on at most one of them.
   *
   * @throws RangeError for a field that cannot be used. `gateway.usage`: `GatewayError` `no_totals` if the ledger keeps
   * no totals.
   */
  page(query?: RecordQuery, options?: ReportOptions): Promise<RecordPage>;
  /**
   * The records of a query one after the other, in its order. Unlike pages, they are sorted once, however many there are. `limit` is
   * from 1 to 100,000, which is the default. The memory is that of the ids.
   *
   * @throws RangeError and `GatewayError` as `page`, when the first record is read
   */
  list(query?: RecordQuery, options?: ReportOptions): AsyncIterable<UsageRecord>;
  /**
   * The record of a request: its attempts, its charge and how that was computed. `undefined` if the request is not known, is
   * still in progress, reached no provider, or was pruned.
   *
   * @throws GatewayError `no_totals`, by `gateway.usage`, if the ledger keeps no totals
   */
  find(id: string): Promise<UsageRecord | undefined>;
}

/** What `gateway.usage` reads. */
export interface GatewayUsage extends UsageReports, UsageHistory {}

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
