import { findAbility } from "../../billing/ledger-ability.js";
import type { Feature } from "../../kernel/feature.js";
import { BUDGET_STORE } from "./budget-store.js";
import { type BudgetReports, createBudgetReports } from "./read-budgets.js";

/** What {@link budgets} adds to a gateway. */
export interface BudgetsApi {
  /** What callers have spent of their budgets, and the periods before. Read-only. */
  readonly budgets: BudgetReports;
}

/** Budgets with a period, if the ledger counts by period, and reports about budgets. */
export function budgets(): Feature<BudgetsApi> {
  return {
    name: "budgets",
    setup({ ledger, now }) {
      const store = findAbility(ledger, BUDGET_STORE);
      return {
        countsPeriods: store !== undefined,
        api: { budgets: createBudgetReports(ledger, store, now) },
      };
    },
  };
}
