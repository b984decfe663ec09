import { findAbility, type LedgerAbility } from "../../billing/ledger-ability.js";
import { USAGE_HISTORY } from "./history-store.js";
import type { UsageHistory } from "./usage-history.js";
import type { UsageReports } from "./usage-reports.js";

/**
 * What `gateway.usage` can read in place of the ledger: another database with the same records, such as a replica or an analytics
 * database. Every ledger that keeps totals is one. `createUsageHistory` of `@calotype/core/stores` makes `history` of a store.
 */
export interface ReportSource extends Pick<UsageReports, "records" | "totals"> {
  readonly history: UsageHistory;
}

const RECORDS: LedgerAbility<Pick<ReportSource, "records" | "totals">> = { methods: ["records", "totals"] };

/** Whether a value is a source of reports. */
export function isReportSource(value: unknown): value is ReportSource {
  const source = Object(value);
  return findAbility(source, RECORDS) !== undefined && findAbility(source, USAGE_HISTORY) !== undefined;
}

/** The message for a value that is not a source of reports. */
export const NO_REPORT_SOURCE =
  "must have the functions records and totals, and history with the functions series, page, list and find";
