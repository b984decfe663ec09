import { ReferenceLedger } from "@calotype/conformance/ledger-suite/reference-ledger";
import { toUnits } from "@calotype/conformance/ledger-suite/units";
import type { Ledger } from "@calotype/core/stores";
import type { Problem } from "./check-run.ts";
import type { Scenario } from "./scenario.ts";

/** A ledger that is compared with the reference ledger after every write. */
export interface CheckedLedger extends Ledger {
  /** Differences from the reference ledger, and exceeded budgets. */
  readonly problems: readonly Problem[];
}

export function checkLedger(ledger: Ledger, { callers }: Scenario, now: () => number): CheckedLedger {
  const reference = new ReferenceLedger();
  const problems: Problem[] = [];
  const budgets = new Map(callers.map(({ id, budget }) => [id, budget]));

  const checkBudget = (caller: string): void => {
    const budget = budgets.get(caller);
    if (budget === undefined) return;
    const { settled, held } = reference.balance(caller);
    if (toUnits(settled) + toUnits(held) <= toUnits(budget)) return;
    const seen = `${caller}: ${settled} settled and ${held} held of ${budget}`;
    problems.push({ rule: "no caller exceeds its budget", seen });
  };

  return {
    ...ledger,
    problems,
    async hold(hold) {
      const expected = reference.hold(hold, now());
      if (hold.budget !== budgets.get(hold.caller)) {
        problems.push({ rule: "a hold carries the caller's budget", seen: JSON.stringify(hold) });
      }
      const result = await ledger.hold(hold);
      if (result.ok !== expected.ok) {
        problems.push({
          rule: "a hold is made if and only if the budget allows it",
          seen: JSON.stringify(hold),
        });
      }
      checkBudget(hold.caller);
      return result;
    },
    async settle(record) {
      reference.settle(record);
      await ledger.settle(record);
      checkBudget(record.caller);
    },
    async release(id) {
      reference.release(id);
      await ledger.release(id);
    },
  };
}
