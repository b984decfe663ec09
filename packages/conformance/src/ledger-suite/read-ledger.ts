import type { RecordFilter, TotalsKey, UsageRecord, UsageReports, UsageTotal } from "@calotype/core/billing";
import {
  compareAge,
  findAbility,
  type MinimalLedger,
  USAGE_HISTORY,
  USAGE_REPORTS,
  type UsageHistory,
} from "@calotype/core/stores";
import { expect } from "vitest";
import { abilityOf } from "./open-ledger.js";

/** Returns all records that match a filter, in the order of the ledger. Without reports, those that were not delivered. */
export async function readRecords(
  ledger: MinimalLedger | UsageReports,
  filter?: RecordFilter,
): Promise<UsageRecord[]> {
  const reports = findAbility(ledger, USAGE_REPORTS);
  if (reports === undefined)
    return "hold" in ledger ? (await peekUndelivered(ledger)).toSorted(compareAge) : [];
  const records: UsageRecord[] = [];
  for await (const record of reports.records(filter)) records.push(record);
  return records;
}

/** Checks the totals, if the ledger has reports. */
export async function expectTotals(
  ledger: MinimalLedger,
  by: TotalsKey,
  lines: readonly Partial<UsageTotal>[],
): Promise<void> {
  const reports = findAbility(ledger, USAGE_REPORTS);
  if (reports !== undefined) expect(await reports.totals(by)).toMatchObject(lines);
}

/** Returns the ids of these records, in order. */
export const idsOf = (records: readonly UsageRecord[]): string[] => records.map(({ id }) => id);

/** Returns the records that could be taken now. They remain available, because their lease ends at once. */
export async function peekUndelivered(ledger: MinimalLedger): Promise<readonly UsageRecord[]> {
  return await ledger.takeUndelivered(1_000, 0);
}

/** The totals that a ledger keeps. */
export const historyOf = (ledger: MinimalLedger): UsageHistory => abilityOf(ledger, USAGE_HISTORY);
