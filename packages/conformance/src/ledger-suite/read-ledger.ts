import type { RecordFilter, UsageRecord } from "@calotype/core/billing";
import type { Ledger } from "@calotype/core/stores";

/** Returns all records that match a filter, in the order of the ledger. */
export async function readRecords(
  ledger: Pick<Ledger, "records">,
  filter?: RecordFilter,
): Promise<UsageRecord[]> {
  const records: UsageRecord[] = [];
  for await (const record of ledger.records(filter)) records.push(record);
  return records;
}

/** Returns the ids of these records, in order. */
export const idsOf = (records: readonly UsageRecord[]): string[] => records.map(({ id }) => id);

/** Returns the records that could be taken now. They remain available, because their lease ends at once. */
export async function peekUndelivered(ledger: Ledger): Promise<readonly UsageRecord[]> {
  return await ledger.takeUndelivered(1_000, 0);
}
