import type { Balance } from "../../billing/ledger.js";
import { type Decimal, formatDecimal, isAtMost, multiplyDecimal, readDecimal } from "../../util/decimal.js";
import { parsePeriodKey } from "../periods/periods.js";
import type { BudgetAlert, BudgetThreshold, PeriodBalance } from "./budget-store.js";

/** The parts of a budget at which `onBudget` is called, in percent. */
const BUDGET_THRESHOLDS: readonly BudgetThreshold[] = [50, 80, 100];

/** The account of a caller, over all time or in one period, with what is known of its budget. */
interface BudgetAccount {
  readonly settled: Decimal;
  /** The budget of the last hold, a decimal string. `null`: there is none. */
  readonly budget: string | null;
  /** The highest threshold that has an alert, in percent; 0 without one. */
  readonly alerted: number;
}

/** The thresholds that the charges have reached and that have no alert yet. A budget of 0 has no alerts. */
export function findAlerts({ settled, budget, alerted }: BudgetAccount): readonly BudgetThreshold[] {
  if (budget === null || alerted >= 100) return [];
  const whole = readDecimal(budget);
  if (whole.units === 0n) return [];
  const percent = multiplyDecimal(settled, 100);
  const reached: BudgetThreshold[] = [];
  for (const threshold of BUDGET_THRESHOLDS) {
    if (threshold <= alerted) continue;
    if (!isAtMost(multiplyDecimal(whole, threshold), percent)) break;
    reached.push(threshold);
  }
  return reached;
}

/** The stored facts of an alert. */
export interface StoredAlert {
  readonly caller: string;
  /** `""` for a budget over all time. */
  readonly periodKey: string;
  readonly threshold: number;
  readonly budget: string;
  readonly settled: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Returns the alert of its stored facts. */
export function createAlert({ caller, periodKey, threshold, budget, settled, at }: StoredAlert): BudgetAlert {
  const period = parsePeriodKey(periodKey);
  return {
    id: `${periodKey || "total"} ${threshold} ${caller}`,
    caller,
    threshold: BUDGET_THRESHOLDS.find((known) => known === threshold) ?? 100,
    ...(period !== undefined && { period }),
    budget: formatDecimal(readDecimal(budget)),
    settled: formatDecimal(readDecimal(settled)),
    time: new Date(at).toISOString(),
  };
}

/** The stored facts of an alert, from what `createAlert` made of them. */
export function toStoredName({
  caller,
  period,
  threshold,
}: BudgetAlert): Omit<StoredAlert, "budget" | "settled" | "at"> {
  return { caller, periodKey: period?.key ?? "", threshold };
}

/** The balance of a stored period. A time zone that is unknown here by now gives an empty span. */
export function toPeriodBalance(caller: string, key: string, { settled, held }: Balance): PeriodBalance {
  const { from = 0, to = 0 } = parsePeriodKey(key) ?? {};
  return { caller, key, from, to, settled, held };
}

/** Alerts that were not delivered are forgotten after this time: 30 days. */
export const MAX_ALERT_AGE_MS = 30 * 86_400_000;
