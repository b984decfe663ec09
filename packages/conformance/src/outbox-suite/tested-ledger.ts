import type { BudgetLedger, OutboxLedger, TaskLedger } from "@calotype/core/stores";

/** A ledger whose outbox has entries of all kinds. */
export type TestedLedger = TaskLedger & BudgetLedger & OutboxLedger;
