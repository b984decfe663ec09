import { describe } from "vitest";
import { describeBalances } from "./ledger-suite/describe-balances.js";
import { describeBudgets } from "./ledger-suite/describe-budgets.js";
import { describeEndings } from "./ledger-suite/describe-endings.js";
import { describeExports } from "./ledger-suite/describe-exports.js";
import { describeHostileStrings } from "./ledger-suite/describe-hostile-strings.js";
import {
  describeDurableTotals,
  describeHourlyTotals,
  describeSharedTotals,
} from "./ledger-suite/describe-hourly-totals.js";
import {
  describeKeptHolds,
  describeReopenedKeptHolds,
  describeSharedKeptHolds,
} from "./ledger-suite/describe-kept-holds.js";
import { describeOutbox } from "./ledger-suite/describe-outbox.js";
import { describePeriods } from "./ledger-suite/describe-periods.js";
import { describeRandomUse } from "./ledger-suite/describe-random-use.js";
import { describeRecordPages } from "./ledger-suite/describe-record-pages.js";
import { describeReopening } from "./ledger-suite/describe-reopening.js";
import { describeReports } from "./ledger-suite/describe-reports.js";
import { describeSharing } from "./ledger-suite/describe-sharing.js";
import { describeSweeps } from "./ledger-suite/describe-sweeps.js";
import type { OpenLedger } from "./ledger-suite/open-ledger.js";

/** The tests that apply to a ledger. */
export interface LedgerSuiteOptions {
  /** The number of random sequences of steps, each on a new ledger. Default 120; fewer if opening a ledger is slow. */
  readonly randomRuns?: number | undefined;
  /** True if its data survives its process. It then needs `reopen`. Default false. */
  readonly isDurable?: boolean | undefined;
  /** True if processes can share it. It then needs `join`. Default false. */
  readonly isShared?: boolean | undefined;
  /** True if it has `keepUpstream` and `takeKept`. Default false. */
  readonly canContinue?: boolean | undefined;
  /** True if it has `history`. Default false. */
  readonly keepsTotals?: boolean | undefined;
  /** True for the random sequences alone, if the same code passes all tests on another store. Default false. */
  readonly onlyRandom?: boolean | undefined;
}

/** The tests that every ledger passes. Each ledger calls it once, in a short file: see `ledgers/`. */
export function describeLedger(
  name: string,
  open: OpenLedger,
  {
    randomRuns = 120,
    isDurable = false,
    isShared = false,
    canContinue = false,
    keepsTotals = false,
    onlyRandom = false,
  }: LedgerSuiteOptions = {},
): void {
  describe(`a ledger ${name}`, () => {
    describeRandomUse(open, randomRuns);
    if (onlyRandom) return;
    describeEndings(open);
    describeBudgets(open);
    describeBalances(open);
    describePeriods(open);
    describeSweeps(open);
    describeOutbox(open);
    describeReports(open);
    describeHostileStrings(open);
    describeExports(open);
    if (isDurable) describeReopening(open);
    if (isShared) describeSharing(open);
    if (canContinue) {
      describeKeptHolds(open);
      if (isDurable) describeReopenedKeptHolds(open);
      if (isShared) describeSharedKeptHolds(open);
    }
    if (keepsTotals) {
      describeHourlyTotals(open);
      describeRecordPages(open);
      if (isDurable) describeDurableTotals(open);
      if (isShared) describeSharedTotals(open);
    }
  });
}
