import { createMemoryHistory } from "#memory-history";
import {
  createMemoryMoney,
  createMemoryRecords,
  type MemoryLedgerOptions,
} from "../../billing/memory-ledger.js";
import type { BudgetLedger } from "../budgets/budget-store.js";
import { createMemoryBudgets } from "../budgets/memory-budgets.js";
import type { CallerLedger } from "../callers/caller-store.js";
import { createMemoryCallers } from "../callers/memory-callers.js";
import { createMemoryOutbox } from "../outbox/memory-outbox.js";
import type { OutboxLedger } from "../outbox/outbox.js";
import { createMemoryTasks } from "../task-store/memory-tasks.js";
import type { TaskLedger } from "../task-store/task-store.js";
import type { HistoryLedger } from "../usage/history-store.js";
import { createMemoryReports } from "../usage/reports.js";

/**
 * A ledger in the memory of this process, for development and for a single process. Balances and records are lost when
 * the process ends.
 *
 * Balances are exact and include every charge; those of periods are kept for 10,000 callers and periods. The ledger keeps the
 * newest `maxRecords` records: it drops the record that was delivered first, then a leased record, then the oldest undelivered
 * record. A dropped record is missing in `records` and `totals`, its charge stays in the balance, and its id is forgotten.
 *
 * It keeps totals, also of dropped records, for 20,000 combinations of hour, caller, model and channel; not on Workers.
 *
 * It also keeps 1,000 tasks, see `TaskStore.submit`. When it is full, it drops tasks that ended longest ago, of the caller
 * that has most. And it keeps 10,000 callers that are created at run time.
 *
 * @param options how many records are kept, and for tests the clock
 * @throws RangeError if `maxRecords` is not a whole number of at least 1
 * @example
 * ```ts
 * import { createMemoryLedger } from "@calotype/core/billing";
 *
 * const ledger = createMemoryLedger({ maxRecords: 100_000 });
 * const { settled, held } = await ledger.balance("me");
 * ```
 */
export function createMemoryLedger({
  now = Date.now,
  maxRecords,
}: MemoryLedgerOptions = {}): TaskLedger &
  CallerLedger &
  BudgetLedger &
  OutboxLedger &
  Partial<HistoryLedger> {
  const records = createMemoryRecords(now, maxRecords);
  const { outbox, taskMessages, addAlerts } = createMemoryOutbox(now, records);
  const { accounts, store: budgets } = createMemoryBudgets(now, addAlerts);
  const history = createMemoryHistory?.(records);
  const { ledger, money } = createMemoryMoney({ now, accounts, records, watcher: history });
  return {
    ...ledger,
    ...createMemoryReports(records),
    tasks: createMemoryTasks(now, money, taskMessages),
    outbox,
    callers: createMemoryCallers(now),
    budgets,
    ...(history && { history: history.history }),
  };
}
