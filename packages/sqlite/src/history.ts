import type { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  countRecord,
  createCounts,
  createUsageHistory,
  type GrowingCounts,
  type PageQuery,
  parseRecord,
  type SummedUsage,
  type SumQuery,
  showCounts,
  type TimeSpan,
  toInstant,
  type UsageHistory,
  type UsageOutcome,
} from "@calotype/core/stores";
import { DURATION_COLUMNS, type HourlyTotals } from "./hourly-totals.js";
import { type Row, readNumber, readNumberOrNull, readText, readTextOrNull } from "./read-column.js";
import { type Read, type SqlQuery, toCondition, toKey } from "./reports.js";

/** What history needs besides the database. */
export interface HistoryContext {
  readonly totals: HourlyTotals;
  readonly read: Read;
  /** Runs an operation inside a transaction. */
  readonly write: <T>(operation: () => T) => Promise<T>;
}

/** How many old records one transaction counts. It takes about 10 ms. */
const OLD_BATCH = 200;
/** How many records are read at once, before other work goes on. */
const PAGE_SIZE = 1_000;

/** Creates the history of a database. */
export function createHistory(
  database: DatabaseSync,
  { totals, read, write }: HistoryContext,
): UsageHistory & { readonly countOld: () => Promise<void> } {
  const select = async ({ sql, values }: SqlQuery): Promise<Row[]> =>
    await read(() => database.prepare(sql).all(...values));

  let counting: Promise<void> | undefined;
  /** Counts the records of older versions. Calls during the work share it. */
  const countOld = async (): Promise<void> => {
    counting ??= (async () => {
      while ((await read(() => totals.hasOld())) && (await write(() => totals.countOld(OLD_BATCH)))) continue;
    })().finally(() => {
      counting = undefined;
    });
    await counting;
  };

  async function sumSpan(query: SumQuery, span: TimeSpan): Promise<Omit<SummedUsage, "span">[]> {
    // A long report leaves turns for requests.
    await nextTurn();
    if (query.source === "hours") return (await select(toHoursQuery(query, span))).map(readSums);
    const sums = new Map<string, GrowingCounts>();
    let rows: Row[];
    let cursor: Place = { time: span.from, id: "" };
    do {
      rows = await select(toFactsQuery(query, span, cursor));
      for (const row of rows) {
        const key = readText(row, "key");
        const counts = sums.get(key) ?? createCounts();
        sums.set(key, counts);
        addRow(counts, row);
      }
      const last = rows.at(-1);
      if (last !== undefined) cursor = { time: readNumber(last, "time"), id: readText(last, "id") };
      await nextTurn();
    } while (rows.length === PAGE_SIZE);
    return Array.from(sums, ([key, counts]) => ({ key, ...showCounts(counts) }));
  }

  const history = createUsageHistory({
    sum: async (query) => {
      await countOld();
      const found: SummedUsage[] = [];
      for (const [at, span] of query.spans.entries()) {
        for (const sums of await sumSpan(query, span)) found.push({ ...sums, span: at });
      }
      return found;
    },
    page: async (query) => {
      if (query.outcomes !== undefined || query.sort === "duration") await countOld();
      return (await select(toPageQuery(query))).map((row) => parseRecord(readText(row, "record")));
    },
    find: async (id) => {
      const [row] = await select({ sql: "SELECT record FROM records WHERE id = ?", values: [id] });
      return row && parseRecord(readText(row, "record"));
    },
  });
  return { ...history, countOld };
}

const SUMS = ["requests", "refused", "failed", "unresolved", "released", "images", "tokens"] as const;

/** The sums of whole hours, with one row per key. */
function toHoursQuery({ by, filter }: SumQuery, { from, to }: TimeSpan): SqlQuery {
  const { condition, values } = toCondition(filter);
  const sums = [...SUMS, "duration_ms", ...DURATION_COLUMNS].map((name) => `sum(${name}) AS ${name}`);
  return {
    sql: `SELECT ${by ?? "''"} AS key, ${sums.join(", ")}, sum_decimals(charge) AS charge FROM hourly_totals
      WHERE hour >= ? AND hour < ? AND ${condition} GROUP BY 1 HAVING sum(requests) <> 0`,
    values: [from, to, ...values],
  };
}

function readSums(row: Row): Omit<SummedUsage, "span"> {
  const [requests, refused, failed, unresolved, released, images, tokens] = SUMS.map((name) =>
    readNumber(row, name),
  );
  return {
    key: readText(row, "key"),
    requests: requests ?? 0,
    refused: refused ?? 0,
    failed: failed ?? 0,
    unresolved: unresolved ?? 0,
    released: released ?? 0,
    images: images ?? 0,
    tokens: tokens ?? 0,
    durationMs: readNumber(row, "duration_ms"),
    durations: DURATION_COLUMNS.map((name) => readNumber(row, name)),
    charge: readText(row, "charge"),
  };
}

interface Place {
  readonly time: number;
  readonly id: string;
}

/** What is counted of the records of a span, after a place. */
function toFactsQuery({ by, filter, outcomes }: SumQuery, { to }: TimeSpan, { time, id }: Place): SqlQuery {
  const key: SqlQuery = by === undefined ? { sql: "''", values: [] } : toKey(by);
  const { condition, values } = toCondition(filter);
  return {
    sql: `SELECT time, id, ${key.sql} AS key, images, charge, outcome, duration_ms, tokens FROM records
      WHERE (time, id) > (?, ?) AND time < ? AND ${condition} AND ${toOutcomeCondition(outcomes)} ORDER BY time, id LIMIT ${PAGE_SIZE}`,
    values: [...key.values, time, id, to, ...values],
  };
}

function addRow(counts: GrowingCounts, row: Row): void {
  const outcome = readText(row, "outcome");
  if (!isOutcome(outcome))
    throw new Error(`The ledger's file is damaged: a record has the outcome ${outcome}.`);
  countRecord(
    counts,
    { images: readNumber(row, "images"), charge: readTextOrNull(row, "charge") },
    { outcome, durationMs: readNumberOrNull(row, "duration_ms"), tokens: readNumber(row, "tokens") },
  );
}

const OUTCOMES: ReadonlySet<string> = new Set<UsageOutcome>([
  "succeeded",
  "refused",
  "failed",
  "unresolved",
  "released",
]);

const isOutcome = (value: string): value is UsageOutcome => OUTCOMES.has(value);

/** Charges are compared as floats: equal ones are in the order of their time. */
const SORTS: Readonly<Record<"charge" | "duration", string>> = {
  charge: "CAST(coalesce(charge, '0') AS REAL)",
  duration: "CAST(coalesce(duration_ms, 0) AS REAL)",
};

/** The statement of a page of records. */
export function toPageQuery({ filter, outcomes, sort, isDescending, limit, after }: PageQuery): SqlQuery {
  const { from, to, ...others } = filter;
  const { condition, values } = toCondition(others);
  const conditions = [condition];
  const given = [...values];
  const add = (sql: string, ...more: (string | number)[]): void => {
    conditions.push(sql);
    given.push(...more);
  };
  const [sign, order] = isDescending ? ["<", "DESC"] : [">", "ASC"];
  const value = sort === "time" ? undefined : SORTS[sort];
  // A cursor by time is a limit of the time, so the limit of the period on the same side is left out.
  const isCut = value === undefined && after !== undefined;
  if (from !== undefined && !(isCut && !isDescending)) add("time >= ?", toInstant(from, "from"));
  if (to !== undefined && !(isCut && isDescending)) add("time < ?", toInstant(to, "to"));
  if (isCut) add(`(time, id) ${sign} (?, ?)`, after.time, after.id);
  else if (after !== undefined) {
    add(`(${value}, time, id) ${sign} (CAST(? AS REAL), ?, ?)`, after.value, after.time, after.id);
  }
  add(toOutcomeCondition(outcomes));
  const places = `FROM records WHERE ${conditions.join(" AND ")}`;
  if (value === undefined) {
    return {
      sql: `SELECT record ${places} ORDER BY time ${order}, id ${order} LIMIT ?`,
      values: [...given, limit],
    };
  }
  // Sorts without the whole records, and then reads those of the page: much faster with many records.
  const sorted = `ORDER BY ${value} ${order}, time ${order}, id ${order}`;
  return {
    sql: `SELECT record FROM records WHERE sequence IN (SELECT sequence ${places} ${sorted} LIMIT ?) ${sorted}`,
    values: [...given, limit],
  };
}

/** The condition of a selection of outcomes. Each of them is one of {@link OUTCOMES}. */
function toOutcomeCondition(outcomes: readonly UsageOutcome[] | undefined): string {
  if (outcomes === undefined) return "TRUE";
  if (outcomes.length === 0) return "FALSE";
  const listed = `outcome IN (${outcomes.map((one) => `'${one}'`).join(", ")})`;
  // The second condition is for the index of records without success.
  return outcomes.includes("succeeded") ? listed : `${listed} AND outcome <> 'succeeded'`;
}
