import * as z from "zod/mini";
import { PERIOD_NEEDS_STORE } from "../../auth/check-caller.js";
import { describeBudget, findBudgetProblem, hasPeriod } from "../../billing/budget.js";
import type { MinimalLedger } from "../../billing/ledger.js";
import { findAbility } from "../../billing/ledger-ability.js";
import type { CallerBudgets } from "../../options/check-callers.js";
import type { OptionsProblem } from "../../options/options.js";
import type { Caller } from "../../types.js";
import { BUDGET_STORE } from "./budget-store.js";

/** The schema of the budget of a caller. */
export const budgetSchema = z
  .custom<NonNullable<Caller["budget"]>>(() => true)
  .check(({ value, issues }) => {
    const problem = findBudgetProblem(value);
    if (problem === undefined) return;
    const path = problem.field === "" ? [] : [problem.field];
    issues.push({ code: "custom", input: value, path, message: problem.rule });
  });

/** The rules of budgets that span several options. */
export const callerBudgets: CallerBudgets = {
  *check(budget, path, { billing, ledger }) {
    if (billing === undefined && budget !== undefined) yield { path, message: NEEDS_BILLING };
    if (hasPeriod(budget) && !countsPeriods(ledger)) {
      yield { path: `${path}.period`, message: PERIOD_NEEDS_STORE };
    }
  },
  describe: describeBudget,
};

const NEEDS_BILLING = "needs billing: without prices nothing is charged, so the budget would have no effect";

/** Checks that the ledger has alerts for the operator's function. */
export function* checkOnBudget({
  ledger,
  onBudget,
}: {
  readonly ledger?: MinimalLedger | undefined;
  readonly onBudget?: unknown;
}): Iterable<OptionsProblem> {
  if (onBudget !== undefined && !countsPeriods(ledger))
    yield { path: "onBudget", message: PERIOD_NEEDS_STORE };
}

/** The ledger in memory, which is the default, counts by period. */
export function countsPeriods(ledger: MinimalLedger | undefined): boolean {
  return ledger === undefined || findAbility(ledger, BUDGET_STORE) !== undefined;
}
