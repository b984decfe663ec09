import { type BudgetStore, isName, readListLimit, toPeriodBalance } from "@calotype/core/stores";
import { type Database, type Row, readText, readTextOrNull, toClock } from "./database.js";
import type { Periods } from "./periods.js";

/** What budgets work with. */
export interface BudgetsParts {
  readonly schema: string;
  readonly now: () => number | null;
  readonly periods: Periods;
  /** Resolves when the tables can be read. */
  readonly ready: () => Promise<void>;
}

/** The balances of periods of a schema. */
export function createBudgets(
  database: Database,
  { schema, now, periods, ready }: BudgetsParts,
): BudgetStore {
  return {
    balance: async (caller, period) => {
      if (!isName(caller))
        throw new RangeError(`caller must be the id of a caller, not ${caller.slice(0, 60)}`);
      await ready();
      const [row] = await periods.run(() =>
        database.run({
          sql: `SELECT chosen.period, coalesce(p.settled, 0) AS settled, coalesce(p.held, 0) AS held
            FROM (SELECT ${schema}.choose_period($2, ${toClock("$3")}) AS period) chosen
            LEFT JOIN ${schema}.period_balances p ON p.caller = $1 AND p.period = chosen.period`,
          values: [caller, periods.addTo("{}", period), now()],
        }),
      );
      return toPeriodBalance(caller, readText(row, "period"), readBalance(row));
    },
    balances: async (callers, period) => {
      await ready();
      // A name that the database cannot keep has no account.
      const names = callers.map((caller) => (isName(caller) ? caller : ""));
      if (period === undefined) {
        const rows = await database.run({
          sql: `SELECT coalesce(b.settled, 0) AS settled, coalesce(b.held, 0) AS held
            FROM unnest($1::text[]) WITH ORDINALITY asked (caller, place)
            LEFT JOIN ${schema}.balances b USING (caller) ORDER BY asked.place`,
          values: [names],
        });
        return rows.map(readBalance);
      }
      const rows = await periods.run(() =>
        database.run({
          sql: `WITH chosen AS MATERIALIZED (SELECT ${schema}.choose_period($2, ${toClock("$3")}) AS period)
            SELECT chosen.period, coalesce(p.settled, 0) AS settled, coalesce(p.held, 0) AS held
            FROM chosen CROSS JOIN unnest($1::text[]) WITH ORDINALITY asked (caller, place)
            LEFT JOIN ${schema}.period_balances p ON p.caller = asked.caller AND p.period = chosen.period
            ORDER BY asked.place`,
          values: [names, periods.addTo("{}", period), now()],
        }),
      );
      return rows.map((row) => {
        const { settled, held, from, to } = toPeriodBalance("", readText(row, "period"), readBalance(row));
        return { settled, held, from, to };
      });
    },
    list: async ({ caller, unit, limit } = {}) => {
      const most = readListLimit(limit);
      await ready();
      if (caller !== undefined && !isName(caller)) return [];
      const rows = await database.run({
        sql: `SELECT caller, period, settled, held FROM ${schema}.period_balances
          WHERE ($1::text IS NULL OR caller = $1) AND ($2::text IS NULL OR split_part(period, ' ', 2) = $2)
          ORDER BY period DESC, caller LIMIT $3`,
        values: [caller ?? null, unit ?? null, most],
      });
      return rows.map((row) =>
        toPeriodBalance(readText(row, "caller"), readText(row, "period"), readBalance(row)),
      );
    },
    accounts: async ({ prefix, after, limit }) => {
      await ready();
      const rows = await database.run({
        sql: `SELECT b.caller, b.settled, b.held, b.budget,
            p.period, p.settled AS period_settled, p.held AS period_held, p.budget AS period_budget
          FROM ${schema}.balances b LEFT JOIN LATERAL (
            SELECT * FROM ${schema}.period_balances WHERE caller = b.caller ORDER BY period DESC LIMIT 1
          ) p ON true
          WHERE b.caller > $1 AND b.caller >= $2 AND b.caller < $3 ORDER BY b.caller LIMIT $4`,
        // Ids sort by their code points, of which this is the last.
        values: [after, prefix, `${prefix}\u{10FFFF}`, limit],
      });
      return rows.map((row) => {
        const key = readTextOrNull(row, "period");
        const account = { ...readBalance(row), budget: readTextOrNull(row, "budget") };
        if (key === null) return { caller: readText(row, "caller"), ...account };
        const newest = {
          key,
          settled: readText(row, "period_settled"),
          held: readText(row, "period_held"),
          budget: readTextOrNull(row, "period_budget"),
        };
        return { caller: readText(row, "caller"), ...account, newest };
      });
    },
  };
}

const readBalance = (row: Row): { settled: string; held: string } => ({
  settled: readText(row, "settled"),
  held: readText(row, "held"),
});
