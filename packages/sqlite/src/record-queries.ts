import { type RecordFilter, type TotalsKey, toInstant } from "@calotype/core/billing";

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
