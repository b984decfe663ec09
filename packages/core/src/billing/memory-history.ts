import { readDecimal, subtractDecimal } from "../util/decimal.js";
import { toCursor } from "./record-pages.js";
import { copyRecord, type UsageRecord } from "./records.js";
import { compareStrings, createRecordMatcher, keyOf } from "./reports.js";
import {
  addCounts,
  countRecord,
  createCounts,
  type GrowingCounts,
  readFacts,
  showCounts,
} from "./usage-counts.js";
import type {
  PageCursor,
  PageQuery,
  SeriesKey,
  SummedUsage,
  TimeSpan,
  UsageHistory,
} from "./usage-history.js";
import { createUsageHistory } from "./usage-series.js";

/** The totals of each hour, and pages of the records. */
export interface MemoryHistory {
  /** A record was stored. */
  add(record: UsageRecord): void;
  /** A record is about to be replaced. */
  takeBack(record: UsageRecord): void;
  readonly history: UsageHistory;
}

/** What history reads of the ledger. The records are not copies. */
export interface KeptRecords {
  find(id: string): UsageRecord | undefined;
  all(): readonly UsageRecord[];
}

/** The totals of one hour, caller, model and channel. */
interface HourlyTotals {
  /** The hour, in milliseconds since 1970. */
  readonly time: number;
  readonly names: Readonly<Partial<Record<SeriesKey, string>>>;
  readonly counts: GrowingCounts;
}

const HOUR_MS = 3_600_000;
/** Beyond this number of totals, those that were made first are dropped. One takes about half a kilobyte. */
const MAX_TOTALS = 20_000;

/** Creates the history of a ledger in memory. */
export function createMemoryHistory(records: KeptRecords): MemoryHistory {
  const totals = new Map<string, HourlyTotals>();

  function change(record: UsageRecord, sign: 1 | -1): void {
    const { caller, model } = record;
    const channel = keyOf(record, "channel");
    const hour = Math.floor(Date.parse(record.time) / HOUR_MS) * HOUR_MS;
    const name = JSON.stringify([hour, caller, model, channel]);
    let known = totals.get(name);
    if (known === undefined) {
      // The totals from which it would be taken back were dropped.
      if (sign === -1) return;
      const [oldest] = totals.keys();
      if (totals.size >= MAX_TOTALS && oldest !== undefined) totals.delete(oldest);
      known = { time: hour, names: { caller, model, channel }, counts: createCounts() };
      totals.set(name, known);
    }
    countRecord(known.counts, record, readFacts(record), sign);
  }

  return {
    add: (record) => change(record, 1),
    takeBack: (record) => change(record, -1),
    history: createUsageHistory({
      async sum({ source, spans, by, filter, outcomes }) {
        const sums = createSums(spans);
        if (source === "hours") {
          for (const { time, names, counts } of totals.values()) {
            const isSelected = KEPT_KEYS.every((key) => (filter[key] ?? names[key]) === names[key]);
            if (!isSelected || counts.requests === 0) continue;
            const sum = sums.find(time, by === undefined ? "" : (names[by] ?? ""));
            if (sum !== undefined) addCounts(sum, counts);
          }
        } else {
          for (const record of records.all().filter(createRecordMatcher(filter))) {
            const facts = readFacts(record);
            if (outcomes?.includes(facts.outcome) === false) continue;
            const sum = sums.find(Date.parse(record.time), by === undefined ? "" : keyOf(record, by));
            if (sum !== undefined) countRecord(sum, record, facts);
          }
        }
        return sums.all();
      },
      page: async (query) => findPage(records.all(), query).map(copyRecord),
      async find(id) {
        const record = records.find(id);
        return record && copyRecord(record);
      },
    }),
  };
}

/** The keys by which totals are kept. */
const KEPT_KEYS = ["caller", "model", "channel"] as const;

interface Sums {
  /** The sums of a key in the span that contains a time; `undefined` if none does. */
  find(time: number, key: string): GrowingCounts | undefined;
  all(): SummedUsage[];
}

function createSums(spans: readonly TimeSpan[]): Sums {
  const bySpan = spans.map(() => new Map<string, GrowingCounts>());
  return {
    find(time, key) {
      const sums = bySpan[spans.findIndex(({ from, to }) => time >= from && time < to)];
      const known = sums?.get(key) ?? createCounts();
      return sums?.set(key, known) && known;
    },
    all: () =>
      bySpan.flatMap((sums, span) =>
        Array.from(sums, ([key, counts]) => ({ span, key, ...showCounts(counts) })),
      ),
  };
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
  const { units } = subtractDecimal(readDecimal(one.value), readDecimal(other.value));
  return Number(units > 0n) - Number(units < 0n) || one.time - other.time || compareStrings(one.id, other.id);
}
