import type { RecordFilter, UsageRecord } from "@calotype/core/billing";
import type { Ledger } from "@calotype/core/stores";

/** Returns all records that match a filter. */
export async function readAll(ledger: Ledger, filter?: RecordFilter): Promise<UsageRecord[]> {
  const records: UsageRecord[] = [];
  for await (const record of ledger.records(filter)) records.push(record);
  return records;
}
