import {
  addCounts,
  type CountsOf,
  countRecord,
  createUsageHistory,
  type GrowingCounts,
  type PageQuery,
  parseRecord,
  type ReportOptions,
  readDecimal,
  type SumQuery,
  type UsageCounts,
  type UsageHistory,
  type UsageOutcome,
} from "@calotype/core/stores";
import { createFirst } from "./first-ids.js";
import { DURATION_COLUMNS, type HourlyTotals } from "./hourly-totals.js";
import { type Row, readNumber, readNumberOrNull, readText, readTextOrNull } from "./read-column.js";
import { toCondition, toKey } from "./reports.js";
import { type Read, type Scan, type Slices, type SqlQuery, scanHours, scanRecords } from "./slices.js";

/** What history needs besides the totals. */
export interface HistoryContext {
  readonly slices: Slices;
  readonly read: Read;
  /** Runs an operation inside a transaction. */
  readonly write: <T>(operation: () => T) => Promise<T>;
}

/** How many old records one transaction counts. It takes about 10 ms. */
const OLD_BATCH = 200;

/** Creates the history of a database. */
export function createHistory(
  totals: HourlyTotals,
  { slices, read, write }: HistoryContext,
): UsageHistory & { readonly countOld: () => Promise<void> } {
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

  const history = createUsageHistory({
    sum: async (query, countsOf, options) => {
      await countOld();
      await addUp(slices, query, countsOf, options);
    },
    list: async function* (query, options) {
      if (query.outcomes !== undefined || query.sort === "duration") await countOld();
      const readRows = query.sort === "time" ? readInOrder : readSorted;
      for await (const row of readRows(slices, query, options)) yield parseRecord(readText(row, "record"));
    },
    find: async (id) => {
      const [row] = await slices.select({ sql: "SELECT record FROM records WHERE id = ?", values: [id] });
      return row && parseRecord(readText(row, "record"));
    },
  });
  return { ...history, countOld };
}

async function addUp(
  slices: Slices,
  query: SumQuery,
  countsOf: CountsOf,
  options: ReportOptions,
): Promise<void> {
  const { source, spans, filter, outcomes, keys } = query;
  const toldApart = keys && new Set(keys);
  const [toQuery, addRow] = source === "hours" ? [toHoursQuery, addHours] : [toFactsQuery, addRecord];
  for (const [at, span] of spans.entries()) {
    const scan: Scan =
      source === "hours"
        ? scanHours(span)
        : { ...scanRecords(filter, outcomes), low: [span.from, ""], high: [span.to, ""] };
    for await (const slice of slices.of(scan, options)) {
      for (const row of await slices.select(toQuery(slice, query))) {
        const key = readText(row, "key");
        addRow(countsOf(at, toldApart?.has(key) === false ? null : key), row);
      }
    }
  }
}

const SUMS = ["requests", "refused", "failed", "unresolved", "released", "images", "tokens"] as const;

/** The sums of a slice of hours, with one row per key. */
function toHoursQuery(slice: SqlQuery, { by, filter }: SumQuery): SqlQuery {
  const { condition, values } = toCondition(filter);
  const sums = [...SUMS, "duration_ms", ...DURATION_COLUMNS].map((name) => `sum(${name}) AS ${name}`);
  return {
    sql: `SELECT ${by ?? "''"} AS key, ${sums.join(", ")}, sum_decimals(charge) AS charge,
      sum(costed) AS costed, coalesce(sum_decimals(cost) FILTER (WHERE cost <> '0'), '0') AS cost,
      coalesce(sum_decimals(costed_charge) FILTER (WHERE costed_charge <> '0'), '0') AS costed_charge ${slice.sql}
      AND ${condition} GROUP BY 1 HAVING sum(requests) <> 0`,
    values: [...slice.values, ...values],
  };
}

function addHours(counts: GrowingCounts, row: Row): void {
  const [requests, refused, failed, unresolved, released, images, tokens] = SUMS.map((name) =>
    readNumber(row, name),
  );
  const added: UsageCounts = {
    requests: requests ?? 0,
    refused: refused ?? 0,
    failed: failed ?? 0,
    unresolved: unresolved ?? 0,
    released: released ?? 0,
    images: images ?? 0,
    tokens: tokens ?? 0,
    durationMs: readNumber(row, "duration_ms"),
    durations: DURATION_COLUMNS.map((name) => readNumber(row, name)),
    charge: readDecimal(readText(row, "charge")),
    costs: readCosts(row),
  };
  addCounts(counts, added);
}

function readCosts(row: Row): UsageCounts["costs"] {
  const requests = readNumber(row, "costed");
  if (requests === 0) return undefined;
  const charge = readDecimal(readText(row, "costed_charge"));
  return { requests, charge, cost: readDecimal(readText(row, "cost")) };
}

/** What is counted of the records of a slice. */
function toFactsQuery(slice: SqlQuery, { by, filter, outcomes }: SumQuery): SqlQuery {
  const key: SqlQuery = by === undefined ? { sql: "''", values: [] } : toKey(by);
  const { condition, values } = toCondition(filter);
  return {
    sql: `SELECT ${key.sql} AS key, images, charge, cost, outcome, duration_ms, tokens ${slice.sql}
      AND ${condition} AND ${toOutcomeCondition(outcomes)}`,
    values: [...key.values, ...slice.values, ...values],
  };
}

function addRecord(counts: GrowingCounts, row: Row): void {
  const outcome = readText(row, "outcome");
  if (!isOutcome(outcome))
    throw new Error(`The ledger's file is damaged: a record has the outcome ${outcome}.`);
  countRecord(
    counts,
    {
      images: readNumber(row, "images"),
      charge: readTextOrNull(row, "charge"),
      cost: readTextOrNull(row, "cost"),
    },
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

/** Reads records in the order of arrival. */
async function* readInOrder(slices: Slices, query: PageQuery, options: ReportOptions): AsyncGenerator<Row> {
  const { filter, outcomes, isDescending, limit, after } = query;
  const { condition, values } = toPageCondition(query);
  const scan = { ...scanRecords(filter, outcomes), isDescending };
  if (after !== undefined) scan[isDescending ? "high" : "low"] = [after.time, after.id];
  // A scan begins with its low place, which was the last one of the page before.
  const isNew = after === undefined || isDescending ? "TRUE" : "(time, id) > (?, ?)";
  const order = isDescending ? "DESC" : "ASC";
  let left = limit;
  for await (const slice of slices.of(scan, options)) {
    const rows = await slices.select({
      sql: `SELECT record ${slice.sql} AND ${condition} AND ${isNew} ORDER BY time ${order}, id ${order} LIMIT ?`,
      values: [
        ...slice.values,
        ...values,
        ...(after === undefined || isDescending ? [] : [after.time, after.id]),
        left,
      ],
    });
    yield* rows;
    left -= rows.length;
    if (left === 0) return;
  }
}

/** How many records are read at once by their ids. It takes a few milliseconds. */
const READ_AT_ONCE = 200;

/**
 * Reads records in the order of charges or durations. The ids are sorted once, however many records are read. A record that
 * changes meanwhile keeps its place.
 */
async function* readSorted(slices: Slices, query: PageQuery, options: ReportOptions): AsyncGenerator<Row> {
  const ids = await findFirst(slices, query, options);
  for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
    await slices.next(options);
    yield* await slices.select({
      sql: "SELECT record FROM json_each(?) AS listed CROSS JOIN records ON records.id = listed.value ORDER BY listed.key",
      values: [JSON.stringify(ids.slice(at, at + READ_AT_ONCE))],
    });
  }
}

/** Finds the ids of the first records in the order of charges or durations. Reads all that the query selects, once. */
async function findFirst(slices: Slices, query: PageQuery, options: ReportOptions): Promise<string[]> {
  const { filter, outcomes, sort, isDescending, limit, after } = query;
  const { condition, values } = toPageCondition(query);
  const value = sort === "duration" ? SORTS.duration : SORTS.charge;
  const [sign, order] = isDescending ? ["<", "DESC"] : [">", "ASC"];
  const isNew = after === undefined ? "TRUE" : `(${value}, time, id) ${sign} (CAST(? AS REAL), ?, ?)`;
  const place = after === undefined ? [] : [after.value, after.time, after.id];
  // The slices have the order of the query, so of two equal values the one that comes earlier is first.
  const first = createFirst(limit, isDescending);
  for await (const slice of slices.of({ ...scanRecords(filter, outcomes), isDescending }, options)) {
    const last = first.last();
    const isBetter = last === undefined ? "TRUE" : `? ${sign} ${value}`;
    const rows = await slices.select({
      sql: `SELECT ${value} AS value, id ${slice.sql} AND ${condition} AND ${isNew} AND ${isBetter}
        ORDER BY value ${order}, time ${order}, id ${order} LIMIT ?`,
      values: [...slice.values, ...values, ...place, ...(last === undefined ? [] : [last]), limit],
    });
    for (const row of rows) first.add(readNumber(row, "value"), readText(row, "id"));
  }
  return await first.sorted(() => slices.next(options));
}

function toPageCondition({ filter, outcomes }: PageQuery): ReturnType<typeof toCondition> {
  const { condition, values } = toCondition(filter);
  return { condition: `${condition} AND ${toOutcomeCondition(outcomes)}`, values };
}

/** The condition of a selection of outcomes. Each of them is one of {@link OUTCOMES}. */
function toOutcomeCondition(outcomes: readonly UsageOutcome[] | undefined): string {
  if (outcomes === undefined) return "TRUE";
  return outcomes.length === 0 ? "FALSE" : `outcome IN (${outcomes.map((one) => `'${one}'`).join(", ")})`;
}
