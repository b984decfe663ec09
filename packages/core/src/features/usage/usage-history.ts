import type { UsageRecord } from "../../billing/records.js";
import type { CostSums, RecordFilter, ReportOptions, UsageReports } from "./usage-reports.js";

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
  /** Of the requests whose cost is known. Absent if there are none. */
  readonly costs?: CostSums;
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
