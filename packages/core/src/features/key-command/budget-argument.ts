import { findBudgetProblem } from "../../billing/budget.js";
import { invalidRequest } from "../../errors.js";
import type { Caller, PeriodicBudget } from "../../types.js";
import { parseDecimal } from "../../util/decimal.js";

const PERIODS: readonly PeriodicBudget["period"][] = ["day", "week", "month", "total"];
const RULE =
  "budget must be an amount such as 50, or an amount and a period such as 50/month or 50/month/Europe/London";

/**
 * Reads a budget as people write it: `50`, `50/total`, `50/month`, `50/month/Europe/London`.
 *
 * @throws GatewayError `invalid_request_error`
 */
export function parseBudget(written: string): NonNullable<Caller["budget"]> {
  const [amount = "", name = "total", ...zone] = written.split("/");
  if (parseDecimal(amount) === undefined) throw invalidRequest(`${RULE}.`, "budget");
  const period = PERIODS.find((known) => known === name);
  if (period === undefined) throw invalidRequest(`${RULE}; the periods are ${PERIODS.join(", ")}.`, "budget");
  if (period === "total" && zone.length === 0) return amount;
  const budget = { amount, period, ...(zone.length > 0 && { timeZone: zone.join("/") }) };
  const problem = findBudgetProblem(budget);
  if (problem !== undefined) {
    throw invalidRequest(`budget is wrong: ${problem.field} ${problem.rule}.`, "budget");
  }
  return budget;
}

/** Writes a budget as {@link parseBudget} reads it. */
export function writeBudget(budget: NonNullable<Caller["budget"]>): string {
  if (typeof budget !== "object") return String(budget);
  const { amount, period, timeZone } = budget;
  return [amount, period, ...(timeZone === undefined ? [] : [timeZone])].join("/");
}
