import { setTimeout as sleep } from "node:timers/promises";
import { createSqliteLedger } from "@calotype/sqlite";
import { toUnits } from "../ledger-suite/units.js";
import { CALLERS } from "./server-plan.js";

/** Somebody else who has the ledger's file open. */
export interface BudgetWatch {
  /** Closes the file, and tells when there was more in the balance than in the budget. */
  stop(): Promise<readonly string[]>;
}

/** Reads the balance of the caller that has a budget over and over. */
export function watchBudget(ledgerPath: string): BudgetWatch {
  const ledger = createSqliteLedger({ path: ledgerPath });
  const overdrawn: string[] = [];
  const stopping = new AbortController();
  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const { settled, held } = await ledger.balance("trial");
      if (toUnits(settled) + toUnits(held) > toUnits(CALLERS.trial.budget)) {
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
      await ledger.close();
      return overdrawn;
    },
  };
}
