import {
  BUDGET_STORE,
  type BudgetLedger,
  KEPT_HOLDS,
  type Ledger,
  type OutboxLedger,
  USAGE_HISTORY,
  USAGE_REPORTS,
} from "@calotype/core/stores";
import { describe } from "vitest";
import { describeBalances } from "./ledger-suite/describe-balances.js";
import { describeBudgets } from "./ledger-suite/describe-budgets.js";
import { describeCosts } from "./ledger-suite/describe-costs.js";
import { describeEndings } from "./ledger-suite/describe-endings.js";
import { describeExports } from "./ledger-suite/describe-exports.js";
import { describeHostileStrings } from "./ledger-suite/describe-hostile-strings.js";
import {
  describeDurableTotals,
  describeHourlyTotals,
  describeSharedTotals,
} from "./ledger-suite/describe-hourly-totals.js";
import {
  describeContinuedHolds,
  describeReopenedKeptHolds,
  describeSharedKeptHolds,
} from "./ledger-suite/describe-kept-holds.js";
import { describeOutbox } from "./ledger-suite/describe-outbox.js";
import { describePeriods } from "./ledger-suite/describe-periods.js";
import { describeRandomUse } from "./ledger-suite/describe-random-use.js";
import { describeRecordPages } from "./ledger-suite/describe-record-pages.js";
import { describeRecords } from "./ledger-suite/describe-records.js";
import { describeReopening } from "./ledger-suite/describe-reopening.js";
import { describeSharing } from "./ledger-suite/describe-sharing.js";
import { describeSweeps } from "./ledger-suite/describe-sweeps.js";
import { itIsFound, type LedgerStore, type OpenLedger } from "./ledger-suite/open-ledger.js";

/*
 * One suite for the money, which every ledger passes, and one for each further ability. The tasks, callers and refusals of a ledger
 * have theirs in the files beside this one. Each ledger calls what it has, in a short file: see `ledgers/`.
 */

/** The tests of the money. */
export interface LedgerSuiteOptions extends LedgerStore {
  /** The number of random sequences of steps, each on a new ledger. Default 120; fewer if opening a ledger is slow. */
  readonly randomRuns?: number | undefined;
  /** True for the random sequences alone, if the same code passes all tests on another store. Default false. */
  readonly onlyRandom?: boolean | undefined;
}

/** The tests of the money. The random sequences also compare every other ability that the ledger has. */
export function describeLedger(
  name: string,
  open: OpenLedger,
  { randomRuns = 120, isDurable = false, isShared = false, onlyRandom = false }: LedgerSuiteOptions = {},
): void {
  describe(`a ledger ${name}`, () => {
    describeRandomUse(open, randomRuns);
    if (onlyRandom) return;
    describeEndings(open);
    describeBudgets(open);
    describeBalances(open);
    describeSweeps(open);
    describeOutbox(open);
    if (isDurable) describeReopening(open);
    if (isShared) describeSharing(open);
  });
}

/** The tests of `USAGE_REPORTS`. */
export function describeReports(name: string, open: OpenLedger<Ledger>): void {
  describe(`the reports of a ledger ${name}`, () => {
    itIsFound(open, USAGE_REPORTS);
    describeRecords(open);
    describeHostileStrings(open);
    describeExports(open);
  });
}

/** The tests of `BUDGET_STORE`. */
export function describeBudgetStore(
  name: string,
  open: OpenLedger<BudgetLedger & OutboxLedger>,
  store: LedgerStore = {},
): void {
  describe(`the budgets of a ledger ${name}`, () => {
    itIsFound(open, BUDGET_STORE);
    describePeriods(open, store);
  });
}

/** The tests of `KEPT_HOLDS`. */
export function describeKeptHolds(
  name: string,
  open: OpenLedger,
  { isDurable = false, isShared = false }: LedgerStore = {},
): void {
  describe(`the kept holds of a ledger ${name}`, () => {
    itIsFound(open, KEPT_HOLDS);
    describeContinuedHolds(open);
    if (isDurable) describeReopenedKeptHolds(open);
    if (isShared) describeSharedKeptHolds(open);
  });
}

/** The tests of `USAGE_HISTORY`. */
export function describeHistory(
  name: string,
  open: OpenLedger<Ledger>,
  { isDurable = false, isShared = false }: LedgerStore = {},
): void {
  describe(`the history of a ledger ${name}`, () => {
    itIsFound(open, USAGE_HISTORY);
    describeHourlyTotals(open);
    describeCosts(open);
    describeRecordPages(open);
    if (isDurable) describeDurableTotals(open);
    if (isShared) describeSharedTotals(open);
  });
}
