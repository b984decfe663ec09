import { describeRun, type StoredRun } from "../stored-run.ts";
import type { OperationTime, YearsMeasures } from "../years/measure-years.ts";
import type { WriterTimes } from "../years/writers.ts";
import type { Removal, YearsResults } from "../years.ts";
import { type Figures, formatBytes, formatTime } from "./format.ts";
import { renderRows } from "./render-tables.ts";

/** The size for which the figures of two runs are extrapolated. */
const LARGE = 100_000_000;

/** The disk space of a record with its indexes, in bytes. */
export const recordBytesOf = ({ newer, records }: YearsResults): number => newer.recordsBytes / records;

/** The figures of two runs with years of records. The larger one is the second. */
export function createYearsFigures(small: StoredRun<YearsResults>, large: StoredRun<YearsResults>): Figures {
  const runs = [small.results, large.results] as const;
  const [, { older, newer, migration, droppedMonth, droppedOld }] = runs;
  return {
    "years-operations": [renderOperations(runs), "", describeRun(large), describeRun(small)].join("\n"),
    "years-changes": renderChanges(runs),
    "years-records": formatMillions(large.results.records),
    "years-slowest-in-migration": formatTime(migration.writers.slowest),
    "years-migration": formatTime(migration.seconds * 1000),
    "years-drop": formatTime(droppedMonth.seconds * 1000),
    "years-drop-old": formatTime(droppedOld.seconds * 1000),
    "years-disk": formatBytes(newer.recordsBytes),
    "years-disk-before": formatBytes(older.recordsBytes),
    "record-bytes": formatBytes(recordBytesOf(large.results)),
  };
}

type Runs = readonly [YearsResults, YearsResults];

/** The time of each operation before and after the migration, by the number of records. */
function renderOperations(runs: Runs): string {
  const head = [
    "",
    ...runs.flatMap(({ records }) => [
      `${formatMillions(records)}, before`,
      `${formatMillions(records)}, after`,
    ]),
    `${formatMillions(LARGE)}, after`,
  ];
  // The check may have been left out of one of them.
  const titles = new Set(runs.toReversed().flatMap(({ newer }) => Object.keys(newer.times)));
  const rows = [...titles].map((title) => {
    const cells = runs.flatMap(({ older, newer }) => [showTime(older, title), showTime(newer, title)]);
    const cpu = runs.map(({ newer }) => newer.times[title]?.cpuMs ?? Number.NaN);
    return [title, ...cells, cpu.some(Number.isNaN) ? "–" : `(${formatTime(extrapolate(runs, cpu))})`];
  });
  return renderRows([head, ...rows]);
}

function showTime({ times }: YearsMeasures, title: string): string {
  const time: OperationTime | undefined = times[title];
  return time === undefined ? "–" : `${formatTime(time.ms)} (${formatTime(time.cpuMs)})`;
}

/** Disk space, the migration, and what removals take. */
function renderChanges(runs: Runs): string {
  const row = (
    title: string,
    read: (results: YearsResults) => number,
    format: (value: number) => string,
  ): string[] => {
    const values = runs.map(read);
    return [title, ...values.map(format), format(extrapolate(runs, values))];
  };
  const measured = (title: string, read: (results: YearsResults) => string): string[] => [
    title,
    ...runs.map(read),
    "",
  ];
  const writers = (title: string, read: (results: YearsResults) => WriterTimes): string[] =>
    measured(title, (results) => showWriters(read(results)));
  const removal = (title: string, read: (results: YearsResults) => Removal): string[][] => [
    row(title, (results) => read(results).seconds, seconds),
    measured("– disk space that it returned", (results) =>
      formatBytes(Math.max(0, read(results).freedBytes)),
    ),
    writers("– requests meanwhile", (results) => read(results).writers),
  ];
  const head = [
    "",
    ...runs.map(({ records }) => formatMillions(records)),
    `${formatMillions(LARGE)}, extrapolated`,
  ];
  return renderRows([
    head,
    row("disk space of the records before the migration", ({ older }) => older.recordsBytes, formatBytes),
    row("– after it", ({ newer }) => newer.recordsBytes, formatBytes),
    row("– most during it", ({ migration }) => migration.mostBytes, formatBytes),
    row("disk space of the totals of hours", ({ newer }) => newer.totalsBytes, formatBytes),
    writers("requests while nothing else runs", ({ idleWriters }) => idleWriters),
    row("migration", ({ migration }) => migration.seconds, seconds),
    writers("– requests meanwhile", ({ migration }) => migration.writers),
    ...removal("one month deleted before the migration, by `prunePostgresLedger`", ({ pruned }) => pruned),
    ...removal("the partition of a month dropped", ({ droppedMonth }) => droppedMonth),
    ...removal("the partition of everything before the migration dropped", ({ droppedOld }) => droppedOld),
  ]);
}

const seconds = (value: number): string => formatTime(value * 1000);

const showWriters = ({ median, p99, slowest, failed }: WriterTimes): string =>
  `median ${formatTime(median)}, 99 % ${formatTime(p99)}, slowest ${formatTime(slowest)}, ${failed} failed`;

const formatMillions = (records: number): string => `${records / 1_000_000} million`;

/** Goes on as between the two runs. What became less counts as constant. */
function extrapolate(
  [small, large]: Runs,
  [first = Number.NaN, second = Number.NaN]: readonly number[],
): number {
  const each = (second - first) / (large.records - small.records);
  return second + Math.max(0, each) * (LARGE - large.records);
}
