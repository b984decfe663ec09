import type { RecordFilter, UsageRecord, UsageReports } from "@calotype/core/billing";
import { compareAge, findAbility, type MinimalLedger, USAGE_REPORTS } from "@calotype/core/stores";

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

/** Returns the ids of these records, in order. */
export const idsOf = (records: readonly UsageRecord[]): string[] => records.map(({ id }) => id);

/** Returns the records that could be taken now. They remain available, because their lease ends at once. */
export async function peekUndelivered(ledger: MinimalLedger): Promise<readonly UsageRecord[]> {
  return await ledger.takeUndelivered(1_000, 0);
}
