import {
  createUsageHistory,
  isName,
  type PageQuery,
  parseRecord,
  type SummedUsage,
  type SumQuery,
  toInstant,
  type UsageHistory,
  type UsageOutcome,
} from "@calotype/core/stores";
import { type Database, type Row, readNumber, readText, type SqlQuery } from "./database.js";
import { checkFilter, TOTALS_TIMEOUT_MS, toConditions, toKey } from "./reports.js";
import { DURATION_COLUMNS, DURATION_INDEX, SUM_COLUMNS, toSums } from "./sql/hourly-totals.js";

/** What history needs besides the database. */
export interface HistoryContext {
  readonly schema: string;
  /** Resolves when the tables can be used. */
  readonly ready: () => Promise<void>;
  /** Counts the records of older versions. */
  readonly countOld: () => Promise<void>;
}

/** Creates the history of a schema. */
export function createHistory(database: Database, { schema, ready, countOld }: HistoryContext): UsageHistory {
  return createUsageHistory({
    sum: async (query) => {
      checkFilter(query.filter);
      await ready();
      await countOld();
      const rows = await database.run(toSumQuery(schema, query), TOTALS_TIMEOUT_MS);
      return rows.map(readSums);
    },
    page: async (query) => {
      checkFilter(query.filter);
      await ready();
      if (query.outcomes !== undefined || query.sort === "duration") await countOld();
      const rows = await database.run(toPageQuery(schema, query), TOTALS_TIMEOUT_MS);
      return rows.map((row) => parseRecord(readText(row, "record")));
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
function toSumQuery(schema: string, { source, spans, by, filter, outcomes }: SumQuery): SqlQuery {
  const { conditions, values } = toConditions(filter);
  if (outcomes !== undefined) conditions.push(toOutcomeCondition(outcomes));
  const key = by === undefined ? "''" : toKey(by, values);
  const from = values.push(spans.map((span) => span.from));
  const to = values.push(spans.map((span) => span.to));
  const isHours = source === "hours";
  const [table, time] = isHours ? ["hourly_totals", "hour"] : ["records", "time"];
  const sums = toSums("c.duration_index").map((sum, at) => {
    const name = SUM_COLUMNS[at] ?? "";
    const added = isHours ? `sum(${name})` : sum;
    return `${name === "charge" ? `trim_scale(${added})` : added} AS ${name}`;
  });
  // OFFSET 0: otherwise the index would be computed again for each of the sums that use it.
  const columns = isHours
    ? SUM_COLUMNS.join(", ")
    : `1 AS sign, images, charge, outcome, duration_ms, tokens, ${DURATION_INDEX} AS duration_index`;
  return {
    sql: `SELECT s.span - 1 AS span, u.* FROM unnest($${from}::float8[], $${to}::float8[])
        WITH ORDINALITY AS s (from_ms, to_ms, span)
      CROSS JOIN LATERAL (
        SELECT key, ${sums.join(", ")} FROM (
          SELECT ${key} AS key, ${columns} FROM ${schema}.${table} c
            WHERE c.${time} >= to_timestamp(s.from_ms / 1000) AND c.${time} < to_timestamp(s.to_ms / 1000)
              AND ${conditions.join(" AND ")} OFFSET 0
        ) c GROUP BY 1
      ) u WHERE u.requests <> 0`,
    values,
  };
}

function readSums(row: Row): SummedUsage {
  const read = (column: string): number => readNumber(row, column);
  return {
    span: read("span"),
    key: readText(row, "key"),
    requests: read("requests"),
    refused: read("refused"),
    failed: read("failed"),
    unresolved: read("unresolved"),
    released: read("released"),
    images: read("images"),
    tokens: read("tokens"),
    durationMs: read("duration_ms"),
    durations: DURATION_COLUMNS.map(read),
    charge: readText(row, "charge"),
  };
}

const SORTS: Readonly<Record<"charge" | "duration", string>> = {
  charge: "coalesce(charge, 0)",
  duration: "coalesce(duration_ms, 0)",
};

/** The statement of a page of records. */
function toPageQuery(
  schema: string,
  { filter, outcomes, sort, isDescending, limit, after }: PageQuery,
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
    sql: `SELECT record::text AS record FROM ${schema}.records WHERE ${conditions.join(" AND ")}
      ORDER BY ${sorted}time ${order}, id ${order} LIMIT ${limit}`,
    values,
  };
}

/** The condition of a selection of outcomes, which core has checked. */
function toOutcomeCondition(outcomes: readonly UsageOutcome[]): string {
  if (outcomes.length === 0) return "FALSE";
  const listed = `outcome IN (${outcomes.map((one) => `'${one}'`).join(", ")})`;
  // The second condition is for the index of records without success.
  return outcomes.includes("succeeded") ? listed : `${listed} AND outcome <> 'succeeded'`;
}
