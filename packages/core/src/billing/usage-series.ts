import { readDecimal, subtractDecimal } from "../util/decimal.js";
import { toInstant } from "../util/instant.js";
import { findPeriod, isTimeZone } from "./periods.js";
import { readOutcomes, readPageQuery, toPage } from "./record-pages.js";
import { compareStrings, readTagKey } from "./reports.js";
import { type AddedCounts, addCounts, createCounts, type GrowingCounts, toSums } from "./usage-counts.js";
import type {
  HistoryStore,
  SeriesKey,
  SeriesQuery,
  SummedUsage,
  TimeSpan,
  UsageHistory,
  UsageLine,
  UsageSeries,
} from "./usage-history.js";

const HOUR_MS = 3_600_000;
const MAX_BUCKETS = 1_000;
/** The longest bucket of each length: a day may have 25 hours. */
const LONGEST_MS = { hour: HOUR_MS, day: 25 * HOUR_MS, week: 8 * 24 * HOUR_MS, month: 32 * 24 * HOUR_MS };
/** Of a series that is read from records: three months. */
const MAX_RECORDS_MS = 92 * 24 * HOUR_MS;
const MAX_LINES = 1_000;
const BUCKETS: readonly unknown[] = [
  "hour",
  "day",
  "week",
  "month",
] satisfies readonly SeriesQuery["bucket"][];

/**
 * Creates the member `history` of a ledger from what the ledger stores: buckets of time zones, lines, percentiles and
 * cursors are the same in every ledger.
 */
export function createUsageHistory(store: HistoryStore): UsageHistory {
  return {
    series: async (query) => await readSeries(store, query),
    page: async (query = {}) => {
      const page = readPageQuery(query);
      // One more record shows whether there is a next page.
      return toPage(page, await store.page({ ...page, limit: page.limit + 1 }));
    },
    find: async (id) => await store.find(id),
  };
}

async function readSeries(store: HistoryStore, query: SeriesQuery): Promise<UsageSeries> {
  const { by, limit = 50, from, to, bucket, timeZone = "UTC", ...selected } = query;
  const { outcomes: asked, ...filter } = selected;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LINES) {
    throw new RangeError(`limit must be a whole number from 1 to ${MAX_LINES}, not ${limit}`);
  }
  if (by !== undefined && !isSeriesKey(by)) {
    throw new RangeError("by must be caller, model, channel, endUser or the name of a tag after tag:");
  }
  if (bucket !== undefined && !BUCKETS.includes(bucket))
    throw new RangeError("bucket must be hour, day, week or month");
  if (!isTimeZone(timeZone)) {
    throw new RangeError(
      `timeZone must be a time zone such as Europe/London, not ${JSON.stringify(timeZone)}`,
    );
  }
  const outcomes = readOutcomes(asked);
  const period = { from: toInstant(from, "from"), to: toInstant(to, "to") };
  if (period.from >= period.to) throw new RangeError("from must be before to");
  const buckets = toBuckets(period, bucket, timeZone);
  const lines = createLines(buckets.length);
  for (const part of toParts(buckets, needsRecords(by, selected))) {
    const { source, spans } = part;
    const sums = await store.sum({ source, spans, by, filter, outcomes });
    for (const summed of sums) lines.add(summed, part.buckets[summed.span] ?? 0);
  }
  return {
    buckets: buckets.map((span) => ({
      from: new Date(span.from).toISOString(),
      to: new Date(span.to).toISOString(),
    })),
    ...lines.show(limit),
  };
}

function isSeriesKey(by: SeriesKey): boolean {
  return ["caller", "model", "channel", "endUser"].includes(by) || readTagKey(by) !== undefined;
}

/** Totals are kept by caller, model and channel only. */
function needsRecords(
  by: SeriesKey | undefined,
  { endUser, tag, outcomes }: Pick<SeriesQuery, "endUser" | "tag" | "outcomes">,
): boolean {
  const isKept = by === undefined || by === "caller" || by === "model" || by === "channel";
  return !isKept || endUser !== undefined || tag !== undefined || outcomes !== undefined;
}

/**
 * The buckets of a period. The first and the last are cut to it. What cannot be shown is refused before any time zone is
 * asked: in years of one or two digits, each answer takes 10 ms.
 */
function toBuckets(period: TimeSpan, bucket: SeriesQuery["bucket"], timeZone: string): TimeSpan[] {
  const buckets: TimeSpan[] = [];
  if (bucket !== undefined) {
    if (period.from < 0) throw new RangeError("from must not be before 1970 with a bucket");
    if (period.to - period.from > MAX_BUCKETS * LONGEST_MS[bucket]) throw tooManyBuckets();
  }
  for (let from = period.from; from < period.to; ) {
    if (buckets.length === MAX_BUCKETS) throw tooManyBuckets();
    const to = Math.min(period.to, findEnd(from, bucket, timeZone));
    buckets.push({ from, to });
    from = to;
  }
  return buckets;
}

function tooManyBuckets(): RangeError {
  return new RangeError(
    `a series has at most ${MAX_BUCKETS} buckets: choose a longer bucket, or a shorter period`,
  );
}

function findEnd(instant: number, bucket: SeriesQuery["bucket"], timeZone: string): number {
  if (bucket === undefined) return Infinity;
  if (bucket === "hour") return floorHour(instant) + HOUR_MS;
  return findPeriod({ unit: bucket, timeZone }, instant).to;
}

const floorHour = (instant: number): number => Math.floor(instant / HOUR_MS) * HOUR_MS;

/** Spans that are read together, with the index of the bucket of each. */
interface Part {
  readonly source: "hours" | "records";
  readonly spans: TimeSpan[];
  readonly buckets: number[];
}

/**
 * Whole hours come from the totals, and the parts of hours at the edges of buckets from the records. Days of most time zones
 * begin at whole hours; those of India and Nepal do not. Totals for each quarter of an hour would need no records there, and
 * be four times as many everywhere.
 */
function toParts(buckets: readonly TimeSpan[], areRecords: boolean): Part[] {
  const hours: Part = { source: "hours", spans: [], buckets: [] };
  const records: Part = { source: "records", spans: [], buckets: [] };
  const add = (part: Part, from: number, to: number, bucket: number): void => {
    if (from >= to) return;
    part.spans.push({ from, to });
    part.buckets.push(bucket);
  };
  for (const [at, { from, to }] of buckets.entries()) {
    const [first, last] = [-floorHour(-from), floorHour(to)];
    if (areRecords || first >= last) {
      add(records, from, to, at);
      continue;
    }
    add(records, from, first, at);
    add(hours, first, last, at);
    add(records, last, to, at);
  }
  const totalMs = records.spans.reduce((sum, { from, to }) => sum + to - from, 0);
  if (totalMs > MAX_RECORDS_MS) {
    throw new RangeError(
      "a series by end user, tag or outcome is read from records, so its period has at most 92 days",
    );
  }
  return [hours, records].filter(({ spans }) => spans.length > 0);
}

/** A line of a series while it is read, with the counts of its buckets. */
interface Line {
  readonly sums: GrowingCounts;
  readonly points: Map<number, GrowingCounts>;
}

/** The lines of a series while it is read. */
interface Lines {
  add(counts: SummedUsage, bucket: number): void;
  show(limit: number): Pick<UsageSeries, "total" | "lines" | "others">;
}

function createLines(bucketCount: number): Lines {
  const lines = new Map<string, Line>();
  const nothing = toSums(createCounts());
  const show = (key: string, { sums, points }: Line): UsageLine => ({
    key,
    sums: toSums(sums),
    points: Array.from({ length: bucketCount }, (_, at) => {
      const counts = points.get(at);
      return counts === undefined ? nothing : toSums(counts);
    }),
  });
  return {
    add({ charge, ...counts }, bucket) {
      const line = lines.get(counts.key) ?? createLine();
      lines.set(counts.key, line);
      addToLine(line, bucket, { ...counts, charge: readDecimal(charge) });
    },
    show(limit) {
      const sorted = [...lines].toSorted(compareLines);
      const rest = sorted.slice(limit);
      return {
        total: show("", addLines(sorted)),
        lines: sorted.slice(0, limit).map(([key, line]) => show(key, line)),
        ...(rest.length > 0 && { others: { ...show("", addLines(rest)), count: rest.length } }),
      };
    },
  };
}

const createLine = (): Line => ({ sums: createCounts(), points: new Map() });

function addToLine({ sums, points }: Line, bucket: number, counts: AddedCounts): void {
  const point = points.get(bucket) ?? createCounts();
  points.set(bucket, point);
  addCounts(point, counts);
  addCounts(sums, counts);
}

function addLines(lines: readonly (readonly [string, Line])[]): Line {
  const sum = createLine();
  for (const [, { points }] of lines) {
    for (const [bucket, counts] of points) addToLine(sum, bucket, counts);
  }
  return sum;
}

/** The highest charge first, then the most requests, then by key. */
function compareLines(
  [key, one]: readonly [string, Line],
  [otherKey, other]: readonly [string, Line],
): number {
  const { units } = subtractDecimal(other.sums.charge, one.sums.charge);
  return (
    Number(units > 0n) - Number(units < 0n) ||
    other.sums.requests - one.sums.requests ||
    compareStrings(key, otherKey)
  );
}
