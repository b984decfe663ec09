import type { RecordFilter } from "./ledger.js";
import type { UsageRecord } from "./usage-record.js";

/**
 * Whether a record is one of those that a filter means.
 *
 * @throws RangeError when a bound is no time.
 */
export function createRecordMatcher(filter: RecordFilter): (record: UsageRecord) => boolean {
  const { caller, model, channel } = filter;
  // Times are compared as times: the same moment has many texts, such as one with an offset.
  const from = toMilliseconds(filter.from, "from") ?? Number.NEGATIVE_INFINITY;
  const to = toMilliseconds(filter.to, "to") ?? Number.POSITIVE_INFINITY;
  return (record) => {
    const time = Date.parse(record.time);
    return (
      (caller === undefined || record.caller === caller) &&
      (model === undefined || record.model === model) &&
      (channel === undefined || channelOf(record) === channel) &&
      time >= from &&
      time < to
    );
  };
}

/** The channel that a record names; `""` for an unresolved one. */
export function channelOf(record: UsageRecord): string {
  return record.state === "settled" ? record.channel : "";
}

function toMilliseconds(time: string | undefined, name: string): number | undefined {
  if (time === undefined) return undefined;
  const milliseconds = Date.parse(time);
  if (Number.isNaN(milliseconds)) {
    throw new RangeError(
      `${name} must be an ISO 8601 time such as "2026-01-31T00:00:00Z", not ${JSON.stringify(time)}`,
    );
  }
  return milliseconds;
}
