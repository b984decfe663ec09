import type { DecimalInput, PeriodicBudget } from "../types.js";
import { formatDecimal, parseDecimal, readDecimal, toDecimalString } from "../util/decimal.js";
import { isJsonObject } from "../util/json.js";
import { isTimeZone } from "../util/time-zone.js";

/** The period of a budget: a calendar day, a week that begins on Monday, or a calendar month, in a time zone. */
export interface BudgetPeriod {
  readonly unit: PeriodUnit;
  /** An IANA name such as `Europe/London`, as `Intl` accepts it. */
  readonly timeZone: string;
}

export type PeriodUnit = "day" | "week" | "month";

/** The budget of a caller, as a hold states it. */
export interface HoldBudget {
  /** A decimal string. */
  readonly budget: string;
  /** Absent: for all time. */
  readonly period?: BudgetPeriod;
}

/**
 * Reads the budget of a caller.
 *
 * @throws RangeError if the amount is not a decimal of at least 0
 */
export function readBudget(input: DecimalInput | PeriodicBudget): HoldBudget {
  if (typeof input !== "object") return { budget: toDecimalString(input, "budget") };
  const { amount, period: unit, timeZone = "UTC" } = input;
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
  if (period !== "total" && !isPeriodUnit(period))
    return { field: "period", rule: "must be day, week, month or total" };
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

/** A string that is equal for equal budgets. */
export function describeBudget(budget: DecimalInput | PeriodicBudget | undefined): string | undefined {
  if (budget === undefined) return undefined;
  const { budget: amount, period } = readBudget(budget);
  return `${formatDecimal(readDecimal(amount))} ${period?.unit} ${period?.timeZone}`;
}

export function isPeriodUnit(value: unknown): value is PeriodUnit {
  return value === "day" || value === "week" || value === "month";
}

/**
 * Checks a period.
 *
 * @throws RangeError that names the field
 */
export function checkPeriod({ unit, timeZone }: BudgetPeriod): void {
  if (!isPeriodUnit(unit))
    throw new RangeError(`period.unit must be day, week or month, not ${String(unit)}`);
  if (isTimeZone(timeZone)) return;
  throw new RangeError(`period.timeZone must be a time zone such as Europe/London, not ${timeZone}`);
}
