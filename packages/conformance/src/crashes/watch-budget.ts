import { setTimeout as sleep } from "node:timers/promises";
import type { Ledger } from "@calotype/core/stores";
import { toUnits } from "../ledger-suite/units.ts";

/** A second process that has the ledger open. */
export interface BudgetWatch {
  /** Returns the moments at which the balance exceeded the budget. */
  stop(): Promise<readonly string[]>;
}

/** Reads the balance of a caller with a budget repeatedly. */
export function watchBudget(
  ledger: Pick<Ledger, "balance">,
  { id, budget }: { readonly id: string; readonly budget: string },
): BudgetWatch {
  const overdrawn: string[] = [];
  const stopping = new AbortController();
  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const { settled, held } = await ledger.balance(id);
      if (toUnits(settled) + toUnits(held) > toUnits(budget)) {
        overdrawn.push(`The budget is overdrawn: ${settled} settled + ${held} held`);
      }
      await sleep(3);
    }
  };
  const watching = watch();
  return {
    async stop() {
      stopping.abort();
      await watching;
      return overdrawn;
    },
  };
}
