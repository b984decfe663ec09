import { type RecordFilter, type TotalsKey, toInstant } from "@calotype/core/billing";
import type { SqlQuery } from "./database.js";

/** Where a page begins: behind this record. */
interface Cursor {
  readonly time: string;
  readonly id: string;
}

/** Which records a page holds. */
export interface Page {
  readonly filter: RecordFilter;
  readonly size: number;
  readonly cursor?: Cursor | undefined;
}

/** In the order of time, then id; from the first record, or from behind the last of the page before. */
export function toPageQuery(schema: string, { filter, size, cursor }: Page): SqlQuery {
  const { from, ...others } = filter;
  const { conditions, values } = toConditions(cursor === undefined ? filter : others);
  if (from !== undefined) toInstant(from, "from");
  if (cursor !== undefined) {
    // Not toInstant: records of 0.1.0 may have a time that is refused today.
    const [time, id] = [values.push(Date.parse(cursor.time)), values.push(cursor.id)];
    conditions.push(`(time, id) > (to_timestamp($${time}::float8 / 1000), $${id})`);
  }
  return {
    sql: `SELECT record::text AS record FROM ${schema}.records WHERE ${conditions.join(" AND ")}
      ORDER BY time, id LIMIT ${size}`,
    values,
  };
}

const KEYS: Readonly<Record<TotalsKey, string>> = {
  caller: "caller",
  model: "model",
  channel: "channel",
  day: "to_char(time AT TIME ZONE 'UTC', 'YYYY-MM-DD') COLLATE \"C\"",
};

/** A row for each key. */
export function toTotalsQuery(schema: string, by: TotalsKey, filter: RecordFilter): SqlQuery {
  const { conditions, values } = toConditions(filter);
  return {
    sql: `SELECT ${KEYS[by]} AS key, count(*) AS requests, sum(images) AS images,
      trim_scale(coalesce(sum(charge), 0)) AS charge, count(*) FILTER (WHERE state = 'unresolved') AS unresolved
      FROM ${schema}.records WHERE ${conditions.join(" AND ")} GROUP BY 1 ORDER BY 1`,
    values,
  };
}

interface Conditions {
  readonly conditions: string[];
  readonly values: (string | number)[];
}

function toConditions({ caller, model, channel, from, to }: RecordFilter): Conditions {
  const tests: readonly [string, string | number | undefined][] = [
    ["caller = $", caller],
    ["model = $", model],
    ["channel = $", channel],
    ["time >= $", from === undefined ? undefined : toInstant(from, "from")],
    ["time < $", to === undefined ? undefined : toInstant(to, "to")],
  ];
  const given = tests.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]));
  return {
    conditions: [
      "TRUE",
      ...given.map(({ sql, value }, at) =>
        typeof value === "number"
          ? sql.replace("$", `to_timestamp($${at + 1}::float8 / 1000)`)
          : `${sql}${at + 1}`,
      ),
    ],
    values: given.map(({ value }) => value),
  };
}
