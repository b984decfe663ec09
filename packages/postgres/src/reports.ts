import {
  type CostCounts,
  parseRecord,
  type RecordFilter,
  readDecimal,
  readTagKey,
  type TotalsKey,
  toCostSums,
  toInstant,
  type UsageReports,
} from "@calotype/core/stores";
import { type Database, type Row, readNumber, readText, type SqlQuery, SUMS_TIMEOUT_MS } from "./database.js";

const PAGE_SIZE = 500;

/** Creates the reports of a schema. */
export function createReports(database: Database, schema: string): UsageReports {
  return {
    balance: async (caller) => {
      checkFilter({ caller });
      const [row] = await database.run({
        sql: `SELECT settled, held FROM ${schema}.balances WHERE caller = $1`,
        values: [caller],
      });
      if (row === undefined) return { settled: "0", held: "0" };
      return { settled: readText(row, "settled"), held: readText(row, "held") };
    },
    // In pages, because a cursor would occupy a connection and keep an old snapshot until the reader has finished.
    records: async function* (filter = {}, options = {}) {
      checkFilter(filter);
      const readPage = async (cursor?: Cursor): Promise<readonly Row[]> =>
        await database.report(
          toPageQuery(schema, { filter, size: PAGE_SIZE, cursor }),
          options,
          SUMS_TIMEOUT_MS,
        );
      let rows = await readPage();
      while (rows.length > 0) {
        const records = rows.map((row) => parseRecord(readText(row, "record")));
        yield* records;
        rows = rows.length < PAGE_SIZE ? [] : await readPage(records.at(-1));
      }
    },
    totals: async (by, filter = {}, options = {}) => {
      checkFilter(filter);
      const rows = await database.report(toTotalsQuery(schema, by, filter), options, SUMS_TIMEOUT_MS);
      return rows.map((row) => {
        const costs = toCostSums(readCosts(row));
        return {
          key: readText(row, "key"),
          requests: readNumber(row, "requests"),
          images: readNumber(row, "images"),
          charge: readText(row, "charge"),
          ...(costs !== undefined && { costs }),
          unresolved: readNumber(row, "unresolved"),
        };
      });
    },
  };
}

/** The costs of a row with `costed`, `cost` and `costed_charge`. `undefined` if none is known. */
export function readCosts(row: Row): CostCounts | undefined {
  const requests = readNumber(row, "costed");
  if (requests === 0) return undefined;
  const charge = readDecimal(readText(row, "costed_charge"));
  return { requests, charge, cost: readDecimal(readText(row, "cost")) };
}

/** The last record of the previous page. */
interface Cursor {
  readonly time: string;
  readonly id: string;
}

/** Which records a page contains. */
export interface Page {
  readonly filter: RecordFilter;
  readonly size: number;
  readonly cursor?: Cursor | undefined;
}

/** The statement of a page, ordered by time, then id. */
export function toPageQuery(schema: string, { filter, size, cursor }: Page): SqlQuery {
  const { from, ...others } = filter;
  const { conditions, values } = toConditions(cursor === undefined ? filter : others);
  if (from !== undefined) toInstant(from, "from");
  if (cursor !== undefined) {
    // Not toInstant, which rejects some times that records of 0.1.0 may have.
    const [time, id] = [values.push(Date.parse(cursor.time)), values.push(cursor.id)];
    conditions.push(`(time, id) > (to_timestamp($${time}::float8 / 1000), $${id})`);
  }
  return {
    sql: `SELECT record::text AS record FROM ${schema}.records WHERE ${conditions.join(" AND ")}
      ORDER BY time, id LIMIT ${size}`,
    values,
  };
}

/** A string of a record may have an escaped NUL, which PostgreSQL cannot store in a text. Few have one, so it is searched first. */
const JSON_RECORD = String.raw`(CASE WHEN strpos(record::text, '\u0000') = 0 THEN record
  ELSE replace(record::text, '\u0000', '\ufffd')::json END)`;

/** The keys of totals in SQL. */
const KEYS: Readonly<Record<string, string>> = {
  caller: "caller",
  model: "model",
  channel: "channel",
  day: "to_char(time AT TIME ZONE 'UTC', 'YYYY-MM-DD') COLLATE \"C\"",
  period: "coalesce(period, '')",
  endUser: `coalesce(${JSON_RECORD} ->> 'endUser', '') COLLATE "C"`,
};

/** The statement of totals, with one row per key. */
export function toTotalsQuery(schema: string, by: TotalsKey, filter: RecordFilter): SqlQuery {
  const { conditions, values } = toConditions(filter);
  const key = toKey(by, values);
  return {
    sql: `SELECT ${key} AS key, count(*) AS requests, sum(images) AS images,
      trim_scale(coalesce(sum(charge), 0)) AS charge, count(*) FILTER (WHERE state = 'unresolved') AS unresolved,
      count(cost) AS costed, coalesce(sum(cost), 0) AS cost,
      coalesce(sum(charge) FILTER (WHERE cost IS NOT NULL), 0) AS costed_charge
      FROM ${schema}.records WHERE ${conditions.join(" AND ")} GROUP BY 1 ORDER BY 1`,
    values,
  };
}

/** The key of totals in SQL. Adds the values that it needs. */
export function toKey(by: TotalsKey, values: unknown[]): string {
  const tag = readTagKey(by);
  return tag === undefined ? (KEYS[by] ?? "''") : toTag(values.push(tag));
}

/** The value of the tag whose key is a parameter. */
const toTag = (parameter: number): string =>
  `coalesce(${JSON_RECORD} -> 'tags' ->> $${parameter}::text, '') COLLATE "C"`;

/** Conditions in SQL, with their values. */
export interface Conditions {
  readonly conditions: string[];
  readonly values: unknown[];
}

/** The conditions of a filter. */
export function toConditions({ caller, model, channel, endUser, tag, from, to }: RecordFilter): Conditions {
  const tests: readonly [string, string | number | undefined][] = [
    ["caller = $", caller],
    ["model = $", model],
    ["channel = $", channel],
    [`coalesce(${JSON_RECORD} ->> 'endUser', '') = $`, endUser],
    ["time >= $", from === undefined ? undefined : toInstant(from, "from")],
    ["time < $", to === undefined ? undefined : toInstant(to, "to")],
  ];
  const given = tests.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]));
  const values: unknown[] = given.map(({ value }) => value);
  const tagged =
    tag === undefined ? [] : [`${toTag(values.push(tag.key))} = $${values.push(tag.value)}::text`];
  return {
    conditions: [
      "TRUE",
      ...tagged,
      ...given.map(({ sql, value }, at) =>
        typeof value === "number"
          ? sql.replace("$", `to_timestamp($${at + 1}::float8 / 1000)`)
          : `${sql}${at + 1}`,
      ),
    ],
    values,
  };
}

/** Throws a `RangeError` if one of the names cannot be sent to PostgreSQL. */
export function checkFilter({ caller, model, channel, endUser, tag }: RecordFilter): void {
  for (const [name, value] of Object.entries({
    caller,
    model,
    channel,
    endUser,
    tag: tag?.key,
    "tag.value": tag?.value,
  })) {
    if (value !== undefined) checkString(value, name);
  }
}

/** A PostgreSQL string cannot contain NUL, and an unpaired surrogate would be changed by the conversion to UTF-8. */
function checkString(value: string, name: string): void {
  if (value.includes("\0") || !value.isWellFormed()) {
    throw new RangeError(`${name} must not contain NUL or an unpaired surrogate: ${JSON.stringify(value)}`);
  }
}
