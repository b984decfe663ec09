import { setImmediate as nextTurn } from "node:timers/promises";
import {
  addCounts,
  createUsageHistory,
  isName,
  type PageQuery,
  parseRecord,
  type ReportOptions,
  readDecimal,
  type SumQuery,
  toInstant,
  type UsageCounts,
  type UsageHistory,
  type UsageOutcome,
} from "@calotype/core/stores";
import {
  type Database,
  type Row,
  readNumber,
  readText,
  readTextOrNull,
  type SqlQuery,
  SUMS_TIMEOUT_MS,
} from "./database.js";
import { checkFilter, readCosts, toConditions, toKey } from "./reports.js";
import { COST_SUMS, DURATION_COLUMNS, DURATION_INDEX, SUM_COLUMNS, toSums } from "./sql/hourly-totals.js";

/** What history needs besides the database. */
export interface HistoryContext {
  readonly schema: string;
  /** Resolves when the tables can be used. */
  readonly ready: () => Promise<void>;
  /** Counts the records of older versions. */
  readonly countOld: () => Promise<void>;
}

/** How many rows are added up before other work of the process goes on: a few milliseconds. */
const ROWS_PER_TURN = 1_000;

/** Creates the history of a schema. */
export function createHistory(database: Database, { schema, ready, countOld }: HistoryContext): UsageHistory {
  return createUsageHistory({
    sum: async (query, countsOf, options) => {
      checkFilter(query.filter);
      await ready();
      await countOld();
      const rows = await database.report(toSumQuery(schema, query), options, SUMS_TIMEOUT_MS);
      for (const [at, row] of rows.entries()) {
        if (at % ROWS_PER_TURN === ROWS_PER_TURN - 1) await nextTurn();
        addCounts(countsOf(readNumber(row, "span"), readTextOrNull(row, "key")), readSums(row));
      }
    },
    list: async function* (query, options) {
      checkFilter(query.filter);
      await ready();
      if (query.outcomes !== undefined || query.sort === "duration") await countOld();
      const read = query.sort === "time" ? readInOrder : readSorted;
      for await (const row of read({ database, schema, options }, query)) {
        yield parseRecord(readText(row, "record"));
      }
    },
    find: async (id) => {
      // Other strings cannot be sent to PostgreSQL.
      if (!isName(id)) return undefined;
      await ready();
      const sql = `SELECT record::text AS record FROM ${schema}.records WHERE id = $1`;
      const [row] = await database.run({ sql, values: [id] });
      return row && parseRecord(readText(row, "record"));
    },
  });
}

/** The statement of sums, with one row per span and key. Each span is searched by its time. */
function toSumQuery(schema: string, query: SumQuery): SqlQuery {
  const { source, spans, by, filter, outcomes, keys, maxCounts } = query;
  const { conditions, values } = toConditions(filter);
  if (outcomes !== undefined) conditions.push(toOutcomeCondition(outcomes));
  const key = by === undefined ? "''" : toKey(by, values);
  const from = values.push(spans.map((span) => span.from));
  const to = values.push(spans.map((span) => span.to));
  const shownKey =
    keys === undefined ? "key" : `CASE WHEN key = ANY ($${values.push(keys)}::text[]) THEN key END`;
  const isHours = source === "hours";
  const [table, time] = isHours ? ["hourly_totals", "hour"] : ["records", "time"];
  const sums = new Map(
    toSums("c.duration_index").map((sum, at): [string, string] => {
      const name = SUM_COLUMNS[at] ?? "";
      return [name, isHours ? `sum(${name})` : sum];
    }),
  );
  for (const [name, sum] of COST_SUMS) sums.set(name, isHours ? `sum(${name})` : sum);
  // One array, because each column of a row takes time to read.
  const durations = `ARRAY[${DURATION_COLUMNS.map((name) => sums.get(name)).join(", ")}]`;
  const shown = SHOWN.map((name) => `${sums.get(name)} AS ${name}`);
  // OFFSET 0: otherwise the index would be computed again for each of the sums that use it.
  const columns = isHours
    ? [...SUM_COLUMNS, ...COST_COLUMNS].join(", ")
    : `1 AS sign, images, charge, cost, outcome, duration_ms, tokens, ${DURATION_INDEX} AS duration_index`;
  return {
    sql: `SELECT s.span - 1 AS span, u.* FROM unnest($${from}::float8[], $${to}::float8[])
        WITH ORDINALITY AS s (from_ms, to_ms, span)
      CROSS JOIN LATERAL (
        SELECT ${shownKey} AS key, ${shown.join(", ")}, ${durations} AS durations FROM (
          SELECT ${key} AS key, ${columns} FROM ${schema}.${table} c
            WHERE c.${time} >= to_timestamp(s.from_ms / 1000) AND c.${time} < to_timestamp(s.to_ms / 1000)
              AND ${conditions.join(" AND ")} OFFSET 0
        ) c GROUP BY 1
      ) u WHERE u.requests <> 0 LIMIT ${maxCounts + 1}`,
    values,
  };
}

/** The sums that have a column of their own. */
const COST_COLUMNS = COST_SUMS.map(([name]) => name);
const SHOWN = [...SUM_COLUMNS.filter((name) => !DURATION_COLUMNS.includes(name)), ...COST_COLUMNS];

function readSums(row: Row): UsageCounts {
  const read = (column: string): number => readNumber(row, column);
  return {
    requests: read("requests"),
    refused: read("refused"),
    failed: read("failed"),
    unresolved: read("unresolved"),
    released: read("released"),
    images: read("images"),
    tokens: read("tokens"),
    durationMs: read("duration_ms"),
    // Such as {0,2,1}.
    durations: readText(row, "durations").slice(1, -1).split(",").map(Number),
    charge: readDecimal(readText(row, "charge")),
    costs: readCosts(row),
  };
}

const SORTS: Readonly<Record<"charge" | "duration", string>> = {
  charge: "coalesce(charge, 0)",
  duration: "coalesce(duration_ms, 0)",
};

/** How many records are read at once: a page of 500, and one more that shows whether there is a next page. */
const READ_AT_ONCE = 501;

interface Reading {
  readonly database: Database;
  readonly schema: string;
  readonly options: ReportOptions;
}

/** Reads records in the order of arrival, by an index. */
async function* readInOrder(
  { database, schema, options }: Reading,
  query: PageQuery,
): AsyncGenerator<Row, void, undefined> {
  for (let { limit, after } = query; limit > 0; ) {
    const asked = Math.min(limit, READ_AT_ONCE);
    const sql = toListQuery(schema, { ...query, limit: asked, after }, PLACE);
    const rows = await database.report(sql, options, SUMS_TIMEOUT_MS);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < asked) return;
    after = { value: "0", time: readNumber(last, "time_ms"), id: readText(last, "id") };
    limit -= asked;
  }
}

/**
 * Reads records in the order of charges or durations. The ids are sorted once, however many records are read. A record that
 * changes meanwhile keeps its place.
 */
async function* readSorted(
  { database, schema, options }: Reading,
  query: PageQuery,
): AsyncGenerator<Row, void, undefined> {
  const found = await database.report(toListQuery(schema, query, "time, id"), options, SUMS_TIMEOUT_MS);
  for (let at = 0; at < found.length; at += READ_AT_ONCE) {
    const page = found.slice(at, at + READ_AT_ONCE);
    const values = [page.map((row) => readText(row, "time")), page.map((row) => readText(row, "id"))];
    // A record is searched by its time, too, so only in its month.
    const sql = `SELECT r.record::text AS record
      FROM unnest($1::timestamptz[], $2::text[]) WITH ORDINALITY AS listed (time, id, place)
      JOIN ${schema}.records r ON r.time = listed.time AND r.id = listed.id ORDER BY place`;
    yield* await database.report({ sql, values }, options, SUMS_TIMEOUT_MS);
  }
}

/** A record with its place in the order of arrival. */
const PLACE = "record::text AS record, id, (extract(epoch FROM time) * 1000)::bigint AS time_ms";

/** The statement of a page of records. */
export function toListQuery(
  schema: string,
  { filter, outcomes, sort, isDescending, limit, after }: PageQuery,
  columns: string,
): SqlQuery {
  const { from, to, ...others } = filter;
  const { conditions, values } = toConditions(others);
  const toTime = (ms: number): string => `to_timestamp($${values.push(ms)}::float8 / 1000)`;
  const [sign, order] = isDescending ? ["<", "DESC"] : [">", "ASC"];
  const value = sort === "time" ? undefined : SORTS[sort];
  if (from !== undefined) conditions.push(`time >= ${toTime(toInstant(from, "from"))}`);
  if (to !== undefined) conditions.push(`time < ${toTime(toInstant(to, "to"))}`);
  if (after !== undefined) {
    const place = `${toTime(after.time)}, $${values.push(after.id)}`;
    conditions.push(
      value === undefined
        ? `(time, id) ${sign} (${place})`
        : `(${value}, time, id) ${sign} ($${values.push(after.value)}::numeric, ${place})`,
    );
  }
  if (outcomes !== undefined) conditions.push(toOutcomeCondition(outcomes));
  const sorted = value === undefined ? "" : `${value} ${order}, `;
  return {
    sql: `SELECT ${columns} FROM ${schema}.records WHERE ${conditions.join(" AND ")}
      ORDER BY ${sorted}time ${order}, id ${order} LIMIT ${limit}`,
    values,
  };
}

/**
 * The condition of a selection of outcomes, which core has checked. PostgreSQL finds by itself that the index of records without
 * success has them. With a condition that says so, it expects far fewer records than there are, and sorts all of them.
 */
function toOutcomeCondition(outcomes: readonly UsageOutcome[]): string {
  if (outcomes.length === 0) return "FALSE";
  return `outcome IN (${outcomes.map((one) => `'${one}'`).join(", ")})`;
}
