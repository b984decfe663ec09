import type { MinimalLedger } from "../../billing/ledger.js";
import { findAbility } from "../../billing/ledger-ability.js";
import { BUDGET_STORE } from "./budget-store.js";

/** The ledger in memory, which is the default, counts by period. */
export function countsPeriods(ledger: MinimalLedger | undefined): boolean {
  return ledger === undefined || findAbility(ledger, BUDGET_STORE) !== undefined;
}
