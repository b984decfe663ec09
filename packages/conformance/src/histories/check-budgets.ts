import { describe } from "./check-accounts.ts";
import { type Checked, toChecked } from "./checked.ts";
import { findOrder, type OrderStep } from "./find-order.ts";
import { callsOf, type History } from "./history.ts";

/** Checks for the stored budget of each caller that one order of its changes and reads explains their results. */
export function checkBudgets({ calls, budgets }: History): Checked {
  return toChecked(
    Object.entries(budgets).map(([caller, budget]) => {
      const changes = callsOf(calls, "changeBudget")
        .filter(({ input }) => input.caller === caller)
        .map(
          (call): OrderStep<number> => ({
            label: describe(call),
            begin: call.begin,
            end: call.end,
            isSure: call.result !== undefined,
            does: String(call.input.difference),
            apply: (before) => {
              const after = before + call.input.difference;
              return call.result === undefined || call.result === after ? after : undefined;
            },
          }),
        );
      const reads = callsOf(calls, "readBudget")
        .filter(({ input, result }) => input.caller === caller && result !== undefined)
        .map(
          (call): OrderStep<number> => ({
            label: describe(call),
            begin: call.begin,
            end: call.end,
            isSure: true,
            isRead: true,
            apply: (present) => (call.result === present ? present : undefined),
          }),
        );
      return { object: `the budget of ${caller}`, search: findOrder([...changes, ...reads], budget, String) };
    }),
  );
}
