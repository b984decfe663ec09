import type { DatabaseSync } from "node:sqlite";
import {
  addDecimals,
  formatDecimal,
  multiplyDecimal,
  parseRecord,
  type RecordFilter,
  readDecimal,
  readTagKey,
  type TotalsKey,
  toInstant,
  type UsageRecord,
  type UsageTotal,
} from "@calotype/core/stores";
import { type Row, readNumber, readText, readTextOrNull } from "./read-column.js";

/** Runs a query as soon as the database is not locked. */
export type Read = <T>(query: () => T) => Promise<T>;

/** The reports of a ledger. */
export interface Reports {
  records(filter?: RecordFilter): AsyncIterable<UsageRecord>;
  totals(by: TotalsKey, filter?: RecordFilter): Promise<UsageTotal[]>;
}

const PAGE_SIZE = 500;

/** Creates the reports of a database. All queries run through `read`. */
export function createReports(database: DatabaseSync, read: Read): Reports {
  const select = async ({ sql, values }: SqlQuery): Promise<Row[]> =>
    await read(() => database.prepare(sql).all(...values));

  return {
    // In pages, because a statement that stays open would prevent SQLite from emptying the write-ahead log.
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

/** One line of totals, from rows that each count requests with the same charge. */
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

/** A statement with the values of its question marks. The contents of a filter are always values, never SQL. */
export interface SqlQuery {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** The last record of the previous page. */
export interface Cursor {
  readonly time: number;
  readonly id: string;
}

/** The statement of a page, ordered by time, then id. */
export function toPageQuery(filter: RecordFilter, size: number, cursor?: Cursor): SqlQuery {
  const { from, ...others } = filter;
  // `from` is the cursor of the first page, not a second condition: with two lower bounds, SQLite might search by the
  // wrong one and read all earlier pages again.
  const first = from === undefined ? Number.MIN_SAFE_INTEGER : toInstant(from, "from");
  const { time, id } = cursor ?? { time: first, id: "" };
  const { condition, values } = toCondition(others);
  return {
    sql: `SELECT time, id, record FROM records WHERE ${condition} AND (time, id) > (?, ?)
      ORDER BY time, id LIMIT ?`,
    values: [...values, time, id, size],
  };
}

/**
 * With the plus sign, SQLite does not group by an index without the charge, which would need a look-up of every row.
 */
const KEYS: Readonly<Record<string, string>> = {
  caller: "+caller",
  model: "+model",
  channel: "+channel",
  day: "date(time / 1000, 'unixepoch')",
  period: "coalesce(period, '')",
  endUser: "coalesce(json_extract(record, '$.endUser'), '')",
};

/** The value of a tag. Compared as a value, because a path of JSON has rules of its own for names. */
const TAG = "(SELECT value FROM json_each(record, '$.tags') WHERE key = ?)";

/** The key of totals in SQL, with the values of its question marks. */
export function toKey(by: TotalsKey): SqlQuery {
  const tag = readTagKey(by);
  if (tag !== undefined) return { sql: `coalesce(${TAG}, '')`, values: [tag] };
  return { sql: KEYS[by] ?? "''", values: [] };
}

/**
 * The statement of totals, with one row per key and charge. SQLite counts equal charges, so few exact multiplications
 * remain.
 */
export function toTotalsQuery(by: TotalsKey, filter: RecordFilter): SqlQuery {
  const { condition, values } = toCondition(filter);
  const key = toKey(by);
  return {
    sql: `SELECT ${key.sql} AS key, charge, count(*) AS requests, sum(images) AS images,
      sum(state = 'unresolved') AS unresolved
      FROM records WHERE ${condition} GROUP BY 1, charge ORDER BY 1`,
    values: [...key.values, ...values],
  };
}

interface Condition {
  readonly condition: string;
  readonly values: readonly (string | number)[];
}

/** The condition of a filter. */
export function toCondition({ caller, model, channel, endUser, tag, from, to }: RecordFilter): Condition {
  const tests: [string, string | number | undefined][] = [
    ["caller = ?", caller],
    ["model = ?", model],
    ["channel = ?", channel],
    ["coalesce(json_extract(record, '$.endUser'), '') = ?", endUser],
    ["time >= ?", from === undefined ? undefined : toInstant(from, "from")],
    ["time < ?", to === undefined ? undefined : toInstant(to, "to")],
  ];
  const given = tests.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]));
  const tagged =
    tag === undefined
      ? { sql: [], values: [] }
      : { sql: [`coalesce(${TAG}, '') = ?`], values: [tag.key, tag.value] };
  return {
    condition: ["TRUE", ...given.map(({ sql }) => sql), ...tagged.sql].join(" AND "),
    values: [...given.map(({ value }) => value), ...tagged.values],
  };
}
