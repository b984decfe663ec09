import type { DatabaseSync } from "node:sqlite";
import {
  parseRecord,
  type RecordFilter,
  type TotalsKey,
  type UsageRecord,
  type UsageTotal,
} from "@calotype/core/billing";
import { formatMoney, toMoney } from "./money.js";
import { type Row, readNumber, readText, readTextOrNull } from "./read-column.js";
import { type SqlQuery, toPageQuery, toTotalsQuery } from "./record-queries.js";

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
    (total, row) => total.plus(toMoney(readTextOrNull(row, "charge")).times(readNumber(row, "requests"))),
    toMoney(null),
  );
  return {
    key,
    requests: sum("requests"),
    images: sum("images"),
    charge: formatMoney(charge),
    unresolved: sum("unresolved"),
  };
}
