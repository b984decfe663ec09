import type { DatabaseSync } from "node:sqlite";
import {
  addDecimals,
  formatDecimal,
  multiplyDecimal,
  parseRecord,
  type RecordFilter,
  readDecimal,
  type TotalsKey,
  toInstant,
  type UsageRecord,
  type UsageTotal,
} from "@calotype/core/stores";
import { type Row, readNumber, readText, readTextOrNull } from "./read-column.js";

/** Runs a query as soon as the database lets it. */
export type Read = <T>(query: () => T) => Promise<T>;

/** What was used. */
export interface Reports {
  records(filter?: RecordFilter): AsyncIterable<UsageRecord>;
  totals(by: TotalsKey, filter?: RecordFilter): Promise<UsageTotal[]>;
}

const PAGE_SIZE = 500;

/** Reads the records of the database, with the queries that `read` lets through. */
export function createReports(database: DatabaseSync, read: Read): Reports {
  const select = async ({ sql, values }: SqlQuery): Promise<Row[]> =>
    await read(() => database.prepare(sql).all(...values));

  return {
    // In pages: a statement that stays open between two reads would keep the write-ahead log from being emptied.
    records: async function* (filter = {}) {
      let rows = await select(toPageQuery(filter, PAGE_SIZE));
      while (rows.length > 0) {
        for (const row of rows) yield parseRecord(readText(row, "record"));
        const last = rows.at(-1);
        const cursor = { time: readNumber(last, "time"), id: readText(last, "id") };
        rows = rows.length < PAGE_SIZE ? [] : await select(toPageQuery(filter, PAGE_SIZE, cursor));
      }
    },
    totals: async (by, filter = {}) => {
      const rows = await select(toTotalsQuery(by, filter));
      const groups = Map.groupBy(rows, (row) => readText(row, "key"));
      return Array.from(groups, ([key, group]) => sumGroup(key, group));
    },
  };
}

/** One line of totals, from its rows of one charge each. */
function sumGroup(key: string, rows: readonly Row[]): UsageTotal {
  const sum = (column: string): number => rows.reduce((total, row) => total + readNumber(row, column), 0);
  const charge = rows.reduce(
    (total, row) =>
      addDecimals(
        total,
        multiplyDecimal(readDecimal(readTextOrNull(row, "charge")), readNumber(row, "requests")),
      ),
    readDecimal(null),
  );
  return {
    key,
    requests: sum("requests"),
    images: sum("images"),
    charge: formatDecimal(charge),
    unresolved: sum("unresolved"),
  };
}

/** A statement with the values of its question marks. What a filter holds is only ever a value. */
export interface SqlQuery {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** Where a page begins: behind this record. */
export interface Cursor {
  readonly time: number;
  readonly id: string;
}

/** In the order of time, then id; from the first record, or from behind the last of the page before. */
export function toPageQuery(filter: RecordFilter, size: number, cursor?: Cursor): SqlQuery {
  const { from, ...others } = filter;
  // `from` is where the first page begins and no condition of its own: with two lower bounds, SQLite might
  // search by the wrong one and walk through all earlier pages again.
  const first = from === undefined ? Number.MIN_SAFE_INTEGER : toInstant(from, "from");
  const { time, id } = cursor ?? { time: first, id: "" };
  const { condition, values } = toCondition(others);
  return {
    sql: `SELECT time, id, record FROM records WHERE ${condition} AND (time, id) > (?, ?)
      ORDER BY time, id LIMIT ?`,
    values: [...values, time, id, size],
  };
}

/** The sign keeps SQLite from grouping by an index that lacks the charge, and looking up every row for it. */
const KEYS: Readonly<Record<TotalsKey, string>> = {
  caller: "+caller",
  model: "+model",
  channel: "+channel",
  day: "date(time / 1000, 'unixepoch')",
};

/**
 * A row for each key and charge: equal charges are counted by SQLite, and what is left to multiply and add
 * exactly is little.
 */
export function toTotalsQuery(by: TotalsKey, filter: RecordFilter): SqlQuery {
  const { condition, values } = toCondition(filter);
  return {
    sql: `SELECT ${KEYS[by]} AS key, charge, count(*) AS requests, sum(images) AS images,
      sum(state = 'unresolved') AS unresolved
      FROM records WHERE ${condition} GROUP BY key, charge ORDER BY key`,
    values,
  };
}

interface Condition {
  readonly condition: string;
  readonly values: readonly (string | number)[];
}

function toCondition({ caller, model, channel, from, to }: RecordFilter): Condition {
  const tests: [string, string | number | undefined][] = [
    ["caller = ?", caller],
    ["model = ?", model],
    ["channel = ?", channel],
    ["time >= ?", from === undefined ? undefined : toInstant(from, "from")],
    ["time < ?", to === undefined ? undefined : toInstant(to, "to")],
  ];
  const given = tests.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]));
  return {
    condition: ["TRUE", ...given.map(({ sql }) => sql)].join(" AND "),
    values: given.map(({ value }) => value),
  };
}
