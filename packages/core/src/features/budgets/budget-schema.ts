import { PERIOD_NEEDS_STORE } from "../../auth/check-caller.js";
import type { MinimalLedger } from "../../billing/ledger.js";
import { findAbility } from "../../billing/ledger-ability.js";
import type { OptionsProblem } from "../../options/options.js";
import { BUDGET_STORE } from "./budget-store.js";

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
