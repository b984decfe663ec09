import type { DecimalInput, PeriodicBudget } from "../types.js";
import { formatDecimal, parseDecimal, toDecimalString } from "../util/decimal.js";
import { isJsonObject } from "../util/json.js";
import { findStore } from "./find-store.js";
import type { BudgetStore, Ledger } from "./ledger.js";
import { type BudgetPeriod, isTimeZone } from "./periods.js";

/** The budget of a caller, as a hold states it. */
export interface HoldBudget {
  /** A decimal string. */
  readonly budget: string;
  /** Absent: for all time. */
  readonly period?: BudgetPeriod;
}

const DEFAULT_TIME_ZONE = "UTC";

/**
 * Reads the budget of a caller.
 *
 * @throws RangeError if the amount is not a decimal of at least 0
 */
export function readBudget(input: DecimalInput | PeriodicBudget): HoldBudget {
  if (typeof input !== "object") return { budget: toDecimalString(input, "budget") };
  const { amount, period: unit, timeZone = DEFAULT_TIME_ZONE } = input;
  const budget = toDecimalString(amount, "budget.amount");
  return unit === "total" ? { budget } : { budget, period: { unit, timeZone } };
}

/** Whether the budget begins anew in each period. Such a budget needs a ledger that counts by period. */
export function hasPeriod(budget: DecimalInput | PeriodicBudget | undefined): boolean {
  return typeof budget === "object" && budget.period !== "total";
}

/** What is wrong with a budget: the field, `""` for all of it, and the rule. `undefined` for a valid one. */
export function findBudgetProblem(
  budget: unknown,
): { readonly field: string; readonly rule: string } | undefined {
  if (!isJsonObject(budget)) {
    if (parseDecimal(budget) !== undefined) return undefined;
    const isNumber = typeof budget === "string" || typeof budget === "number";
    return { field: "", rule: isNumber ? `must be ${DECIMAL}` : `must be ${DECIMAL}, or ${OBJECT}` };
  }
  const { amount, period, timeZone, ...others } = budget;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return { field: unknown, rule: `is not a field of a budget: it is ${OBJECT}` };
  if (parseDecimal(amount) === undefined) return { field: "amount", rule: `must be ${DECIMAL}` };
  if (!PERIODS.includes(period)) return { field: "period", rule: "must be day, week, month or total" };
  if (timeZone === undefined) return undefined;
  if (period === "total") {
    return { field: "timeZone", rule: "has no effect on a budget for all time: leave it out" };
  }
  return isTimeZone(timeZone)
    ? undefined
    : { field: "timeZone", rule: "must be the name of a time zone, such as Europe/London" };
}

const DECIMAL = 'a decimal of at least 0, such as "0.04"';
const OBJECT = "an object of amount, period and timeZone";
const PERIODS: readonly unknown[] = [
  "day",
  "week",
  "month",
  "total",
] satisfies readonly PeriodicBudget["period"][];

/** A string that is equal for equal budgets. */
export function describeBudget(budget: DecimalInput | PeriodicBudget | undefined): string | undefined {
  if (budget === undefined) return undefined;
  const {
    amount,
    period,
    timeZone = DEFAULT_TIME_ZONE,
  } = typeof budget === "object" ? budget : { amount: budget, period: "total" };
  const decimal = parseDecimal(amount);
  return `${decimal && formatDecimal(decimal)} ${period} ${period === "total" ? "" : timeZone}`;
}

/** Returns the member `budgets` of a ledger. `undefined` if the ledger has none. */
export function findBudgetStore(ledger: Ledger): BudgetStore | undefined {
  return findStore(ledger, "budgets", ["balance", "list", "takeAlerts", "markAlertsDelivered", "watch"]);
}
