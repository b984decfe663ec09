import { describe } from "vitest";
import { describeBalances } from "./ledger-suite/describe-balances.js";
import { describeBudgets } from "./ledger-suite/describe-budgets.js";
import { describeEndings } from "./ledger-suite/describe-endings.js";
import { describeOutbox } from "./ledger-suite/describe-outbox.js";
import { describeSweeps } from "./ledger-suite/describe-sweeps.js";
import type { OpenLedger } from "./ledger-suite/open-ledger.js";

/** What every ledger does. Each calls it once, in a file of a few lines: see `ledgers/`. */
export function describeLedger(name: string, open: OpenLedger): void {
  describe(`a ledger ${name}`, () => {
    describeEndings(open);
    describeBudgets(open);
    describeBalances(open);
    describeSweeps(open);
    describeOutbox(open);
  });
}
