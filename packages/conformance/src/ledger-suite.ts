import { describe } from "vitest";
import { describeBalances } from "./ledger-suite/describe-balances.js";
import { describeBudgets } from "./ledger-suite/describe-budgets.js";
import { describeEndings } from "./ledger-suite/describe-endings.js";
import { describeExports } from "./ledger-suite/describe-exports.js";
import { describeHostileTexts } from "./ledger-suite/describe-hostile-texts.js";
import { describeOutbox } from "./ledger-suite/describe-outbox.js";
import { describeRandomUse } from "./ledger-suite/describe-random-use.js";
import { describeReopening } from "./ledger-suite/describe-reopening.js";
import { describeReports } from "./ledger-suite/describe-reports.js";
import { describeSharing } from "./ledger-suite/describe-sharing.js";
import { describeSweeps } from "./ledger-suite/describe-sweeps.js";
import type { OpenLedger } from "./ledger-suite/open-ledger.js";

/** How thoroughly a ledger is tested. */
export interface LedgerSuiteOptions {
  /** Random sequences of steps, each on a ledger of its own. Default 300; fewer where opening one is slow. */
  readonly randomRuns?: number | undefined;
  /** What it knows outlives its process: `reopen` is there. Default false. */
  readonly isDurable?: boolean | undefined;
  /** Processes can share it: `join` is there. Default false. */
  readonly isShared?: boolean | undefined;
}

/** What every ledger does. Each calls it once, in a file of a few lines: see `ledgers/`. */
export function describeLedger(
  name: string,
  open: OpenLedger,
  { randomRuns = 300, isDurable = false, isShared = false }: LedgerSuiteOptions = {},
): void {
  describe(`a ledger ${name}`, () => {
    describeEndings(open);
    describeBudgets(open);
    describeBalances(open);
    describeSweeps(open);
    describeOutbox(open);
    describeReports(open);
    describeHostileTexts(open);
    describeExports(open);
    if (isDurable) describeReopening(open);
    if (isShared) describeSharing(open);
    describeRandomUse(open, randomRuns);
  });
}
