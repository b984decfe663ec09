import { addAmounts, formatAmount, NOTHING, readAmount } from "./amount.js";
import { compareText } from "./compare-text.js";
import type { TotalsKey, UsageTotal } from "./ledger.js";
import { channelOf } from "./match-records.js";
import type { UsageRecord } from "./usage-record.js";

/** One line for each value of the key, in the order of the key. */
export function sumRecords(records: Iterable<UsageRecord>, by: TotalsKey): UsageTotal[] {
  const groups = Map.groupBy(records, (record) => keyOf(record, by));
  return Array.from(groups, ([key, group]) => sumGroup(key, group)).toSorted((one, other) =>
    compareText(one.key, other.key),
  );
}

function sumGroup(key: string, group: readonly UsageRecord[]): UsageTotal {
  return {
    key,
    requests: group.length,
    images: group.reduce((images, record) => images + record.images, 0),
    charge: formatAmount(
      group.reduce((charge, record) => addAmounts(charge, readAmount(record.charge)), NOTHING),
    ),
    unresolved: group.filter((record) => record.state === "unresolved").length,
  };
}

function keyOf(record: UsageRecord, by: TotalsKey): string {
  switch (by) {
    case "caller":
      return record.caller;
    case "model":
      return record.model;
    case "channel":
      return channelOf(record);
    case "day":
      return record.time.slice(0, "2026-01-31".length);
  }
}
