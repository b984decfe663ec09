import type { MemoryRecords } from "../../billing/memory-ledger.js";
import { compareAge, copyRecord, type UsageRecord } from "../../billing/records.js";
import { compareStrings } from "../../util/compare-strings.js";
import { addDecimals, formatDecimal, readDecimal, ZERO } from "../../util/decimal.js";
import { toInstant } from "../../util/instant.js";
import type { CostCounts } from "./history-store.js";
import { addCosts, toCostCounts, toCostSums } from "./usage-counts.js";
import {
  type RecordFilter,
  type ReportOptions,
  readTagKey,
  type TotalsKey,
  type UsageReports,
  type UsageTotal,
} from "./usage-reports.js";

/**
 * A ledger's records as JSON lines, each with its newline. Read as they are asked for: a slow reader slows the
 * reading of the ledger, and the whole is never in memory.
 *
 * @example
 * ```ts
 * import { createWriteStream } from "node:fs";
 * import { Readable } from "node:stream";
 * import { pipeline } from "node:stream/promises";
 * import { createMemoryLedger, exportRecords } from "@calotype/core/billing";
 *
 * const ledger = createMemoryLedger();
 * const lines = exportRecords(ledger, { from: "2026-01-01T00:00:00Z" });
 * await pipeline(Readable.from(lines), createWriteStream("usage.jsonl"));
 * ```
 */
export async function* exportRecords(
  ledger: Pick<UsageReports, "records">,
  filter?: RecordFilter,
  options?: ReportOptions,
): AsyncGenerator<string, void, undefined> {
  for await (const record of ledger.records(filter, options)) yield `${toLine(record)}\n`;
}

/**
 * Throws if the signal of a report was aborted.
 *
 * @throws DOMException named `AbortError`
 */
export function assertWanted({ signal }: ReportOptions = {}): void {
  if (signal?.aborted === true) throw new DOMException("The report was stopped by its signal.", "AbortError");
}

/**
 * Returns a function that tells whether a record matches a filter.
 *
 * @throws RangeError if `from` or `to` is not an ISO 8601 time with a zone
 */
export function createRecordMatcher(filter: RecordFilter): (record: UsageRecord) => boolean {
  const { caller, model, channel, endUser, tag } = filter;
  // The same instant can be written differently, for example with another zone.
  const from = filter.from === undefined ? Number.NEGATIVE_INFINITY : toInstant(filter.from, "from");
  const to = filter.to === undefined ? Number.POSITIVE_INFINITY : toInstant(filter.to, "to");
  return (record) => {
    const time = Date.parse(record.time);
    return (
      (caller === undefined || record.caller === caller) &&
      (model === undefined || record.model === model) &&
      (channel === undefined || channelOf(record) === channel) &&
      (endUser === undefined || (record.endUser ?? "") === endUser) &&
      (tag === undefined || (readTag(record, tag.key) ?? "") === tag.value) &&
      time >= from &&
      time < to
    );
  };
}

/** One line for each value of the key, in the order of the key. */
function sumRecords(records: Iterable<UsageRecord>, by: TotalsKey): UsageTotal[] {
  const groups = Map.groupBy(records, (record) => keyOf(record, by));
  return Array.from(groups, ([key, group]) => sumGroup(key, group)).toSorted((one, other) =>
    compareStrings(one.key, other.key),
  );
}

/** JSON may hold U+2028 and U+2029 as they are, but readers such as `node:readline` end a line at them. */
function toLine(record: unknown): string {
  return JSON.stringify(record).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

function sumGroup(key: string, group: readonly UsageRecord[]): UsageTotal {
  const costs = toCostSums(
    group.reduce((sum: CostCounts | undefined, record) => {
      const counts = toCostCounts(record);
      return counts === undefined ? sum : addCosts(sum, counts);
    }, undefined),
  );
  return {
    key,
    requests: group.length,
    images: group.reduce((images, record) => images + record.images, 0),
    charge: formatDecimal(
      group.reduce((charge, record) => addDecimals(charge, readDecimal(record.charge)), ZERO),
    ),
    ...(costs !== undefined && { costs }),
    unresolved: group.filter((record) => record.state === "unresolved").length,
  };
}

/** The key of a record in totals. */
export function keyOf(record: UsageRecord, by: TotalsKey): string {
  switch (by) {
    case "caller":
      return record.caller;
    case "model":
      return record.model;
    case "channel":
      return channelOf(record);
    case "day":
      return record.time.slice(0, "2026-01-31".length);
    case "period":
      return record.period ?? "";
    case "endUser":
      return record.endUser ?? "";
    default:
      return readTag(record, readTagKey(by) ?? "") ?? "";
  }
}

function readTag({ tags = {} }: UsageRecord, key: string): string | undefined {
  return Object.hasOwn(tags, key) ? tags[key] : undefined;
}

/** The channel that a record names; `""` for an unresolved one. */
function channelOf(record: UsageRecord): string {
  return record.state === "settled" ? record.channel : "";
}

/** What reports and totals read of a ledger in memory. The records are not copies. */
export type KeptRecords = Pick<MemoryRecords, "find" | "all">;

/** Creates the reports of a ledger in memory. */
export function createMemoryReports(records: KeptRecords): Omit<UsageReports, "balance"> {
  return {
    records: (filter = {}, options = {}) => readRecords(records, filter, options),
    async totals(by, filter = {}, options = {}) {
      assertWanted(options);
      return sumRecords(records.all().filter(createRecordMatcher(filter)), by);
    },
  };
}

/** The records as they are when the first is asked for. Each is the reader's own copy. */
async function* readRecords(
  records: KeptRecords,
  filter: RecordFilter,
  options: ReportOptions,
): AsyncGenerator<UsageRecord> {
  assertWanted(options);
  const found = records.all().filter(createRecordMatcher(filter)).toSorted(compareAge);
  for (const record of found) {
    assertWanted(options);
    yield copyRecord(record);
  }
}
