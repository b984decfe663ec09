import type { UsageRecord } from "../../billing/records.js";
import { startNextTurn } from "../../util/async.js";
import { compareStrings } from "../../util/compare-strings.js";
import { compareDecimals, formatDecimal } from "../../util/decimal.js";
import { toInstant } from "../../util/instant.js";
import { readListLimit } from "../../util/list-limit.js";
import { isTimeZone } from "../../util/time-zone.js";
import { findPeriod } from "../periods/periods.js";
import type { GrowingCounts, HistoryStore, TimeSpan, UsageCounts } from "./history-store.js";
import { readOutcomes, readPageQuery, toPage } from "./record-pages.js";
import { assertWanted } from "./reports.js";
import { addCounts, createCounts, DURATION_LIMITS, toCostSums } from "./usage-counts.js";
import type {
  SeriesKey,
  SeriesQuery,
  UsageHistory,
  UsageLine,
  UsageSeries,
  UsageSums,
} from "./usage-history.js";
import { type ReportOptions, readTagKey } from "./usage-reports.js";

const HOUR_MS = 3_600_000;
const MAX_BUCKETS = 1_000;
/** The longest bucket of each length: a day may have 25 hours. */
const LONGEST_MS = { hour: HOUR_MS, day: 25 * HOUR_MS, week: 8 * 24 * HOUR_MS, month: 32 * 24 * HOUR_MS };
/** Of a series that is read from records: three months. */
const MAX_RECORDS_MS = 92 * 24 * HOUR_MS;
const MAX_LINES = 1_000;
/** Lines × buckets of a response. */
const MAX_POINTS = 50_000;
/** How many lines are read. Each has counts, which take about half a kilobyte. */
const MAX_COUNTS = 100_000;
/** More records take an export, which has no order but the time. */
const MAX_LIST = 100_000;
/** How many counts of lines and buckets are read before it is known which lines are shown. */
const MAX_COUNTS_APART = 20_000;
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
    series: async (query, options = {}) => await readSeries(store, query, options),
    page: async (query = {}, options = {}) => {
      const page = readPageQuery(query);
      assertWanted(options);
      // One more record shows whether there is a next page.
      const found: UsageRecord[] = [];
      for await (const record of store.list({ ...page, limit: page.limit + 1 }, options)) found.push(record);
      return toPage(page, found);
    },
    list: async function* (query = {}, options = {}) {
      yield* store.list(readPageQuery({ limit: MAX_LIST, ...query }, MAX_LIST), options);
    },
    find: async (id) => await store.find(id),
  };
}

async function readSeries(
  store: HistoryStore,
  query: SeriesQuery,
  options: ReportOptions,
): Promise<UsageSeries> {
  const { by, limit = 50, from, to, bucket, timeZone = "UTC", ...selected } = query;
  const { outcomes: asked, ...filter } = selected;
  readListLimit(limit, MAX_LINES);
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
  if (by !== undefined && limit * buckets.length > MAX_POINTS) {
    throw new RangeError(
      `a series has at most ${MAX_POINTS} points: choose a smaller limit, or a longer bucket`,
    );
  }
  const parts = toParts(buckets, needsRecords(by, selected));
  /** Adds up everything. The buckets of the counts are those of the series, or all of them are bucket 0. */
  const readLines = async (areApart: boolean, keys?: readonly string[]): Promise<Lines> => {
    const isTry = areApart && keys === undefined && buckets.length > 1;
    const maxCounts = isTry ? MAX_COUNTS_APART : MAX_COUNTS;
    const lines = createLines(maxCounts);
    for (const part of parts) {
      assertWanted(options);
      const { source, spans } = part;
      await store.sum(
        { source, spans, by, filter, outcomes, keys, maxCounts },
        (span, key) => lines.countsOf(areApart ? (part.buckets[span] ?? 0) : 0, key),
        options,
      );
    }
    return lines;
  };
  return {
    buckets: buckets.map((span) => ({
      from: new Date(span.from).toISOString(),
      to: new Date(span.to).toISOString(),
    })),
    ...(await showLines(readLines, buckets.length, limit)),
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

/** The beginning of an hour, in milliseconds since 1970. */
export const floorHour = (instant: number): number => Math.floor(instant / HOUR_MS) * HOUR_MS;

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

/** The counts of one key, by bucket. */
type Line = Map<number, GrowingCounts>;

/** The lines of a series while it is read. */
interface Lines {
  /** @throws TooManyCounts */
  countsOf(bucket: number, key: string | null): GrowingCounts;
  readonly all: ReadonlyMap<string | null, Line>;
}

/** There are more counts than may be in memory. */
class TooManyCounts extends RangeError {
  override readonly name = "RangeError";

  constructor() {
    super(
      `a series has at most ${MAX_COUNTS} different callers, models, channels, end users or values of a tag: choose a shorter period`,
    );
  }
}

function createLines(maxCounts: number): Lines {
  const all = new Map<string | null, Line>();
  let size = 0;
  return {
    all,
    countsOf(bucket, key) {
      let line = all.get(key);
      if (line === undefined) all.set(key, (line = new Map()));
      let counts = line.get(bucket);
      if (counts === undefined) {
        if (size >= maxCounts) throw new TooManyCounts();
        size += 1;
        line.set(bucket, (counts = createCounts()));
      }
      return counts;
    },
  };
}

/**
 * Reads the lines and shows those with the highest charges. If there are too many counts for all lines and buckets, it first
 * reads the lines without buckets to know which ones to show, and then reads the buckets of these.
 */
async function showLines(
  readLines: (areApart: boolean, keys?: readonly string[]) => Promise<Lines>,
  bucketCount: number,
  limit: number,
): Promise<Pick<UsageSeries, "total" | "lines" | "others">> {
  try {
    const lines = await readLines(true);
    return await show(lines, await rank(lines, limit), bucketCount);
  } catch (error) {
    if (!(error instanceof TooManyCounts) || bucketCount === 1) throw error;
  }
  const ranking = await rank(await readLines(false), limit);
  return await show(await readLines(true, ranking.keys), ranking, bucketCount);
}

/** The keys of the lines to show, those with the highest charges first, and the number of all lines. */
interface Ranking {
  readonly keys: readonly string[];
  readonly count: number;
}

/** How many lines are added up before other work goes on: a few milliseconds. */
const LINES_PER_TURN = 2_000;

async function rank({ all }: Lines, limit: number): Promise<Ranking> {
  const best: Ranked[] = [];
  let count = 0;
  for (const [key, line] of all) {
    if (++count % LINES_PER_TURN === 0) await startNextTurn();
    const { charge, requests } = addUp(line);
    const ranked = { key: key ?? "", charge, requests };
    const last = best.at(-1);
    if (best.length === limit && last !== undefined && compareRanked(last, ranked) < 0) continue;
    const at = best.findIndex((other) => compareRanked(ranked, other) < 0);
    best.splice(at < 0 ? best.length : at, 0, ranked);
    if (best.length > limit) best.pop();
  }
  return { keys: best.map(({ key }) => key), count };
}

interface Ranked extends Pick<UsageCounts, "charge" | "requests"> {
  readonly key: string;
}

/** The highest charge first, then the most requests, then by key. */
function compareRanked(one: Ranked, other: Ranked): number {
  return (
    compareDecimals(other.charge, one.charge) ||
    other.requests - one.requests ||
    compareStrings(one.key, other.key)
  );
}

async function show(
  { all }: Lines,
  { keys, count }: Ranking,
  bucketCount: number,
): Promise<Pick<UsageSeries, "total" | "lines" | "others">> {
  const nothing = toSums(createCounts());
  const showLine = (key: string, line: Line): UsageLine => ({
    key,
    sums: toSums(addUp(line)),
    points: Array.from({ length: bucketCount }, (_, at) => {
      const counts = line.get(at);
      return counts === undefined ? nothing : toSums(counts);
    }),
  });
  const total: Line = new Map();
  const others: Line = new Map();
  const shown = new Set<string | null>(keys);
  let done = 0;
  for (const [key, line] of all) {
    if (++done % LINES_PER_TURN === 0) await startNextTurn();
    addLine(shown.has(key) ? total : others, line);
  }
  addLine(total, others);
  const lines = keys.flatMap((key) => {
    const line = all.get(key);
    return line === undefined ? [] : [showLine(key, line)];
  });
  return {
    total: showLine("", total),
    lines,
    ...(count > keys.length && { others: { ...showLine("", others), count: count - keys.length } }),
  };
}

/** The sum of all buckets. */
function addUp(line: Line): UsageCounts {
  const [first, ...more] = line.values();
  if (first !== undefined && more.length === 0) return first;
  const sum = createCounts();
  for (const counts of line.values()) addCounts(sum, counts);
  return sum;
}

function addLine(to: Line, line: Line): void {
  for (const [bucket, counts] of line) {
    const sum = to.get(bucket) ?? createCounts();
    to.set(bucket, sum);
    addCounts(sum, counts);
  }
}

/** The counts as a report shows them. */
function toSums({ durationMs, durations, charge, costs: known, ...counts }: UsageCounts): UsageSums {
  const { requests, refused, failed, unresolved, released } = counts;
  const succeeded = requests - refused - failed - unresolved - released;
  const costs = toCostSums(known);
  const sums = { ...counts, succeeded, charge: formatDecimal(charge), ...(costs !== undefined && { costs }) };
  if (succeeded === 0) return sums;
  const meanMs = Math.round(durationMs / succeeded);
  // If all are between the same two limits, their mean is a better estimate.
  const isNarrow = durations.includes(succeeded);
  const estimate = (share: number): number =>
    isNarrow ? meanMs : Math.round(findQuantile(durations, share * succeeded));
  return { ...sums, meanMs, medianMs: estimate(0.5), p95Ms: estimate(0.95) };
}

/** The duration below which a number of the requests are, if those between two limits are spread evenly. */
function findQuantile(durations: readonly number[], count: number): number {
  let before = 0;
  let at = 0;
  while (before + (durations[at] ?? count) < count) before += durations[at++] ?? 0;
  const low = DURATION_LIMITS[at - 1] ?? 0;
  // There is no limit above the last one.
  const high = DURATION_LIMITS[at] ?? low;
  return low + ((high - low) * (count - before)) / (durations[at] ?? 1);
}
