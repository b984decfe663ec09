import { copyRecord, type UsageRecord } from "../../billing/records.js";
import { removeOldest } from "../../util/collections.js";
import { compareStrings } from "../../util/compare-strings.js";
import { compareDecimals, readDecimal } from "../../util/decimal.js";
import type { GrowingCounts, PageCursor, PageQuery, TimeSpan } from "./history-store.js";
import { toCursor } from "./record-pages.js";
import { createRecordMatcher, type KeptRecords, keyOf } from "./reports.js";
import { addCounts, countRecord, createCounts, readFacts } from "./usage-counts.js";
import type { SeriesKey } from "./usage-history.js";
import { createUsageHistory, floorHour } from "./usage-series.js";

/** The totals of one hour, caller, model and channel. */
interface HourlyTotals {
  /** The hour, in milliseconds since 1970. */
  readonly time: number;
  readonly names: Readonly<Partial<Record<SeriesKey, string>>>;
  readonly counts: GrowingCounts;
}

/** Beyond this number of totals, those that were made first are dropped. One takes about half a kilobyte. */
const MAX_TOTALS = 20_000;

/** Creates the history of a ledger in memory: the totals of each hour, and pages of the records. */
export function createMemoryHistory(records: KeptRecords) {
  const totals = new Map<string, HourlyTotals>();

  function change(record: UsageRecord, sign: 1 | -1): void {
    const { caller, model, time } = record;
    const channel = keyOf(record, "channel");
    // Each hour has one name, and a second one for times with another zone. No name contains NUL.
    const hour = time.endsWith("Z") ? time.slice(0, "2026-01-31T00".length) : floorHour(Date.parse(time));
    const name = `${hour}\0${caller}\0${model}\0${channel}`;
    let known = totals.get(name);
    if (known === undefined) {
      // The totals from which it would be taken back were dropped.
      if (sign === -1) return;
      known = {
        time: floorHour(Date.parse(time)),
        names: { caller, model, channel },
        counts: createCounts(),
      };
      totals.set(name, known);
      removeOldest(totals, MAX_TOTALS);
    }
    countRecord(known.counts, record, readFacts(record), sign);
  }

  return {
    add: (record: UsageRecord) => change(record, 1),
    takeBack: (record: UsageRecord) => change(record, -1),
    history: createUsageHistory({
      async sum({ source, spans, by, filter, outcomes, keys }, countsOf) {
        const toldApart = keys && new Set(keys);
        const find = (time: number, key: string): GrowingCounts | undefined => {
          const span = findSpan(spans, time);
          return span < 0 ? undefined : countsOf(span, toldApart?.has(key) === false ? null : key);
        };
        if (source === "hours") {
          for (const { time, names, counts } of totals.values()) {
            const isSelected = KEPT_KEYS.every((key) => (filter[key] ?? names[key]) === names[key]);
            if (!isSelected || counts.requests === 0) continue;
            const sum = find(time, by === undefined ? "" : (names[by] ?? ""));
            if (sum !== undefined) addCounts(sum, counts);
          }
        } else {
          for (const record of records.all().filter(createRecordMatcher(filter))) {
            const facts = readFacts(record);
            if (outcomes?.includes(facts.outcome) === false) continue;
            const sum = find(Date.parse(record.time), by === undefined ? "" : keyOf(record, by));
            if (sum !== undefined) countRecord(sum, record, facts);
          }
        }
      },
      list: async function* (query) {
        for (const record of findPage(records.all(), query)) yield copyRecord(record);
      },
      async find(id) {
        const record = records.find(id);
        return record && copyRecord(record);
      },
    }),
  };
}

/** The keys by which totals are kept. */
const KEPT_KEYS = ["caller", "model", "channel"] as const;

/** The index of the span that contains a time, or -1. The spans are in order. */
function findSpan(spans: readonly TimeSpan[], time: number): number {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle]?.to ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return time >= (spans[low]?.from ?? Number.POSITIVE_INFINITY) ? low : -1;
}

function findPage(
  records: readonly UsageRecord[],
  { filter, outcomes, sort, isDescending, limit, after }: PageQuery,
): UsageRecord[] {
  const sign = isDescending ? -1 : 1;
  const matches = createRecordMatcher(filter);
  return records
    .filter((record) => matches(record) && (outcomes?.includes(readFacts(record).outcome) ?? true))
    .map((record) => ({ record, place: toCursor(record, sort) }))
    .filter(({ place }) => after === undefined || sign * comparePlaces(place, after) > 0)
    .toSorted((one, other) => sign * comparePlaces(one.place, other.place))
    .slice(0, limit)
    .map(({ record }) => record);
}

function comparePlaces(one: PageCursor, other: PageCursor): number {
  const byValue = compareDecimals(readDecimal(one.value), readDecimal(other.value));
  return byValue || one.time - other.time || compareStrings(one.id, other.id);
}
