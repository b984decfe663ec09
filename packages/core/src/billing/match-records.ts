import { toInstant } from "../util/instant.js";
import type { RecordFilter } from "./ledger.js";
import type { UsageRecord } from "./usage-record.js";

/**
 * Returns a function that tells whether a record matches a filter.
 *
 * @throws RangeError if `from` or `to` is not an ISO 8601 time with a zone
 */
export function createRecordMatcher(filter: RecordFilter): (record: UsageRecord) => boolean {
  const { caller, model, channel } = filter;
  // The same instant can be written differently, for example with another zone.
  const from = filter.from === undefined ? Number.NEGATIVE_INFINITY : toInstant(filter.from, "from");
  const to = filter.to === undefined ? Number.POSITIVE_INFINITY : toInstant(filter.to, "to");
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
