import {
  addCosts,
  addDecimals,
  type CostCounts,
  compareStrings,
  type Decimal,
  formatDecimal,
  multiplyDecimal,
  parseRecord,
  type RecordFilter,
  type ReportOptions,
  readDecimal,
  readTagKey,
  type TotalsKey,
  toCostSums,
  type UsageRecord,
  type UsageTotal,
} from "@calotype/core/stores";
import { type Row, readNumber, readText, readTextOrNull } from "./read-column.js";
import { type Slices, type SqlQuery, scanCosts, scanRecords } from "./slices.js";

/** The reports of a ledger. */
export interface Reports {
  records(filter?: RecordFilter, options?: ReportOptions): AsyncIterable<UsageRecord>;
  totals(by: TotalsKey, filter?: RecordFilter, options?: ReportOptions): Promise<UsageTotal[]>;
}

/** Creates the reports of a database. */
export function createReports(slices: Slices): Reports {
  return {
    // In slices, because a statement that stays open would prevent SQLite from emptying the write-ahead log.
    records: async function* (filter = {}, options = {}) {
      for await (const slice of slices.of(scanRecords(filter), options)) {
        for (const row of await slices.select(toRecordsQuery(slice, filter))) {
          yield parseRecord(readText(row, "record"));
        }
      }
    },
    totals: async (by, filter = {}, options = {}) => {
      const totals = new Map<string, GrowingTotal>();
      for await (const slice of slices.of(scanRecords(filter), options)) {
        for (const row of await slices.select(toTotalsQuery(slice, by, filter))) addToTotals(totals, row);
      }
      const costs = new Map<string, CostCounts>();
      for await (const slice of slices.of(scanCosts(filter), options)) {
        for (const row of await slices.select(toCostsQuery(slice, by, filter))) addToCosts(costs, row);
      }
      return Array.from(totals, ([key, { charge, ...sums }]): UsageTotal => {
        const known = toCostSums(costs.get(key));
        return {
          key,
          ...sums,
          charge: formatDecimal(charge),
          ...(known !== undefined && { costs: known }),
        };
      }).toSorted((one, other) => compareStrings(one.key, other.key));
    },
  };
}

interface GrowingTotal {
  requests: number;
  images: number;
  charge: Decimal;
  unresolved: number;
}

/** Adds a row, which counts requests with the same charge. */
function addToTotals(totals: Map<string, GrowingTotal>, row: Row): void {
  const key = readText(row, "key");
  const total = totals.get(key) ?? { requests: 0, images: 0, charge: readDecimal(null), unresolved: 0 };
  totals.set(key, total);
  const requests = readNumber(row, "requests");
  const charge = multiplyDecimal(readDecimal(readTextOrNull(row, "charge")), requests);
  total.requests += requests;
  total.images += readNumber(row, "images");
  total.charge = addDecimals(total.charge, charge);
  total.unresolved += readNumber(row, "unresolved");
}

/** Adds a row, which counts requests with the same charge and the same cost. */
function addToCosts(costs: Map<string, CostCounts>, row: Row): void {
  const key = readText(row, "key");
  const requests = readNumber(row, "requests");
  const charge = multiplyDecimal(readDecimal(readTextOrNull(row, "charge")), requests);
  const cost = multiplyDecimal(readDecimal(readText(row, "cost")), requests);
  costs.set(key, addCosts(costs.get(key), { requests, charge, cost }));
}

/** The statement of the records of a slice, ordered by time, then id. */
function toRecordsQuery(slice: SqlQuery, filter: RecordFilter): SqlQuery {
  const { condition, values } = toCondition(filter);
  return {
    sql: `SELECT record ${slice.sql} AND ${condition} ORDER BY time, id`,
    values: [...slice.values, ...values],
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
 * The statement of the totals of a slice, with one row per key and charge. SQLite counts equal charges, so few exact
 * multiplications remain.
 */
function toTotalsQuery(slice: SqlQuery, by: TotalsKey, filter: RecordFilter): SqlQuery {
  const { condition, values } = toCondition(filter);
  const key = toKey(by);
  return {
    sql: `SELECT ${key.sql} AS key, charge, count(*) AS requests, sum(images) AS images,
      sum(state = 'unresolved') AS unresolved ${slice.sql} AND ${condition} GROUP BY 1, charge`,
    values: [...key.values, ...slice.values, ...values],
  };
}

/** The statement of the costs of a slice, with one row per key, charge and cost. */
function toCostsQuery(slice: SqlQuery, by: TotalsKey, filter: RecordFilter): SqlQuery {
  const { condition, values } = toCondition(filter);
  const key = toKey(by);
  return {
    sql: `SELECT ${key.sql} AS key, charge, cost, count(*) AS requests ${slice.sql} AND ${condition}
      GROUP BY 1, charge, cost`,
    values: [...key.values, ...slice.values, ...values],
  };
}

interface Condition {
  readonly condition: string;
  readonly values: readonly (string | number)[];
}

/** The condition of a filter, without its times: these are the limits of a scan. */
export function toCondition({ caller, model, channel, endUser, tag }: RecordFilter): Condition {
  const tests: [string, string | undefined][] = [
    ["caller = ?", caller],
    ["model = ?", model],
    ["channel = ?", channel],
    ["coalesce(json_extract(record, '$.endUser'), '') = ?", endUser],
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
