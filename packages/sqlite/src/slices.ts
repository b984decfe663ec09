import type { DatabaseSync } from "node:sqlite";
import {
  type RecordFilter,
  type ReportOptions,
  type TimeSpan,
  toInstant,
  type UsageOutcome,
} from "@calotype/core/stores";
import { type Row, readNumber, readText } from "./read-column.js";
import type { Turns } from "./turns.js";

/** Runs a query as soon as the database is not locked. */
export type Read = <T>(query: () => T) => Promise<T>;

/** A statement with the values of its question marks. The contents of a filter are always values, never SQL. */
export interface SqlQuery {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** The rows of a report, in the order of an index. */
export interface Scan {
  /** The table, and the index that is read. */
  readonly source: string;
  /** The columns of the index by which the rows are ordered. The first is a time in milliseconds since 1970. */
  readonly place: readonly [time: string, name: string];
  /** The part of the condition that the index has. Other rows are not read. */
  readonly condition: SqlQuery;
  /** The first place. */
  readonly low: Place;
  /** The place after the last one. */
  readonly high: Place;
  readonly isDescending: boolean;
}

/** How many rows of an index are read at once. It takes a few milliseconds. */
const SLICE_ROWS = 500;

/** Reads a database in slices. */
export interface Slices {
  /**
   * The slices of a scan, one after the other: for each, the rest of a statement after its columns, from `FROM` on, which can be
   * continued with more conditions. Rows with the same place are in one slice. A row that is stored in the meantime is in
   * one slice at most.
   *
   * A statement that finds few rows may read very many of them. With slices, no statement reads more than
   * {@link SLICE_ROWS}, and other work goes on in between.
   */
  of(scan: Scan, options: ReportOptions): AsyncGenerator<SqlQuery, void, undefined>;
  /** Resolves when a report may read more, see {@link Turns}. */
  next(options: ReportOptions): Promise<void>;
  /** Runs a statement. */
  select(query: SqlQuery): Promise<Row[]>;
}

/** Creates the slices of a database. */
export function createSlices(database: DatabaseSync, read: Read, turns: Turns): Slices {
  const select = async ({ sql, values }: SqlQuery): Promise<Row[]> =>
    await read(() => database.prepare(sql).all(...values));

  return {
    select,
    next: (options) => turns.next(options),
    of: async function* (scan, options) {
      const { source, place, condition, isDescending } = scan;
      let { low, high } = scan;
      const [time, name] = place;
      const columns = place.join(", ");
      const order = isDescending ? "DESC" : "ASC";
      const where = `FROM ${source} WHERE ${condition.sql}`;
      for (;;) {
        await turns.next(options);
        const [end] = await select({
          sql: `SELECT ${columns} ${where} AND (${columns}) > (?, ?) AND (${columns}) < (?, ?)
            ORDER BY ${time} ${order}, ${name} ${order} LIMIT 1 OFFSET ${SLICE_ROWS - 1}`,
          values: [...condition.values, ...low, ...high],
        });
        const middle: Place | undefined = end && [readNumber(end, time), readText(end, name)];
        const [from, to] = isDescending ? [middle ?? low, high] : [low, middle ?? high];
        yield {
          sql: `${where} AND (${columns}) >= (?, ?) AND (${columns}) < (?, ?)`,
          values: [...condition.values, ...from, ...to],
        };
        if (middle === undefined) return;
        if (isDescending) high = middle;
        else low = middle;
      }
    },
  };
}

/** A place in the order of an index. No name is empty, so an empty one is before all rows of the time. */
type Place = readonly [time: number, name: string];

/**
 * The scan of the records of a filter in the order of their arrival, by the index that has the fewest of them, as far as that
 * is known without looking.
 */
export function scanRecords(filter: RecordFilter, outcomes?: readonly UsageOutcome[]): Scan {
  const { index, ...condition } = findIndex(filter, outcomes);
  const { from, to } = filter;
  return {
    source: `records INDEXED BY ${index}`,
    place: ["time", "id"],
    condition,
    low: [from === undefined ? Number.MIN_SAFE_INTEGER : toInstant(from, "from"), ""],
    high: [to === undefined ? Number.MAX_SAFE_INTEGER : toInstant(to, "to"), ""],
    isDescending: false,
  };
}

/** The scan of the records of a filter whose cost is known, in the order of their arrival. */
export const scanCosts = (filter: RecordFilter): Scan => ({
  ...scanRecords(filter),
  source: "records INDEXED BY records_with_cost",
  condition: { sql: "cost IS NOT NULL", values: [] },
});

function findIndex(
  filter: RecordFilter,
  outcomes: readonly UsageOutcome[] | undefined,
): SqlQuery & { readonly index: string } {
  // Few requests fail, but a caller may have sent most of them.
  if (outcomes?.includes("succeeded") === false) {
    return { index: "records_without_success", sql: "outcome <> 'succeeded'", values: [] };
  }
  for (const name of ["caller", "channel", "model"] as const) {
    const value = filter[name];
    if (value !== undefined) return { index: `records_by_${name}`, sql: `${name} = ?`, values: [value] };
  }
  return { index: "records_by_time", sql: "TRUE", values: [] };
}

/** The scan of the totals of whole hours. */
export const scanHours = ({ from, to }: TimeSpan): Scan => ({
  source: "hourly_totals",
  // All totals of an hour and a caller are in one slice: a record whose channel becomes known moves between them.
  place: ["hour", "caller"],
  condition: { sql: "TRUE", values: [] },
  low: [from, ""],
  high: [to, ""],
  isDescending: false,
});
