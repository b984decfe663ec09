import { parseRecord, type UsageReports } from "@calotype/core/billing";
import { checkFilter } from "./check-input.js";
import type { Database } from "./database.js";
import { readNumber, readText } from "./read-column.js";
import { toPageQuery, toTotalsQuery } from "./record-queries.js";

const PAGE_SIZE = 500;
/** Totals read every record that they count. */
const TOTALS_TIMEOUT_MS = 300_000;

/** Reads what was used out of a schema. */
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
    // In pages: a cursor would keep a connection and an old snapshot for as long as the reader likes.
    records: async function* (filter = {}) {
      checkFilter(filter);
      let rows = await database.run(toPageQuery(schema, { filter, size: PAGE_SIZE }));
      while (rows.length > 0) {
        const records = rows.map((row) => parseRecord(readText(row, "record")));
        yield* records;
        const cursor = records.at(-1);
        rows =
          rows.length < PAGE_SIZE
            ? []
            : await database.run(toPageQuery(schema, { filter, size: PAGE_SIZE, cursor }));
      }
    },
    totals: async (by, filter = {}) => {
      checkFilter(filter);
      const rows = await database.run(toTotalsQuery(schema, by, filter), TOTALS_TIMEOUT_MS);
      return rows.map((row) => ({
        key: readText(row, "key"),
        requests: readNumber(row, "requests"),
        images: readNumber(row, "images"),
        charge: readText(row, "charge"),
        unresolved: readNumber(row, "unresolved"),
      }));
    },
  };
}
