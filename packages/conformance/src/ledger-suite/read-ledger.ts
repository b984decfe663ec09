import type { RecordFilter, UsageRecord } from "@calotype/core/billing";
import type { Ledger } from "@calotype/core/stores";

/** All records that a filter means, in the order of the ledger. */
export async function readRecords(
  ledger: Pick<Ledger, "records">,
  filter?: RecordFilter,
): Promise<UsageRecord[]> {
  const records: UsageRecord[] = [];
  for await (const record of ledger.records(filter)) records.push(record);
  return records;
}

/** The ids of these records, in their order. */
export const idsOf = (records: readonly UsageRecord[]): string[] => records.map(({ id }) => id);

/** The records that could be taken now. They stay so: their lease ends as it begins. */
export async function peekUndelivered(ledger: Ledger): Promise<readonly UsageRecord[]> {
  return await ledger.takeUndelivered(1_000, 0);
}
