import type { Balance, KeptHoldStore, MinimalLedger } from "../../billing/ledger.js";
import type { LedgerAbility } from "../../billing/ledger-ability.js";
import type { UsageRecord } from "../../billing/records.js";
import type { ClientSignal } from "../../http.js";

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
  /** Of the records whose cost is known. Absent if there are none. */
  readonly costs?: CostSums;
  /** How many of the records are unresolved: the outcome of their requests is not known. */
  readonly unresolved: number;
}

/** The costs of the requests whose cost is known. Exact decimal strings. */
export interface CostSums {
  /** How many requests these are. The sums are of them alone. */
  readonly requests: number;
  /** What they were charged. */
  readonly charge: string;
  /** What the operator pays for them. */
  readonly cost: string;
  /** `charge - cost`: negative if they cost more than they were charged. */
  readonly margin: string;
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

/** A ledger that also has reports, and may let another process continue its requests. */
export interface Ledger extends MinimalLedger, UsageReports, Partial<KeptHoldStore> {}

/** Finds the reports of a ledger. The ledger itself has the methods. */
export const USAGE_REPORTS: LedgerAbility<UsageReports> = { methods: ["balance", "records", "totals"] };

const TAG_PREFIX = "tag:";

/** The key of the tag that totals are grouped by; `undefined` for another key of totals. */
export function readTagKey(by: string): string | undefined {
  return by.startsWith(TAG_PREFIX) ? by.slice(TAG_PREFIX.length) : undefined;
}
