import type { PostgresLedger } from "@calotype/postgres";
import { describeCallers } from "../caller-suite.js";
import type { OpenLedger } from "../ledger-suite/open-ledger.js";
import {
  describeBudgetStore,
  describeHistory,
  describeKeptHolds,
  describeLedger,
  describeReports,
} from "../ledger-suite.js";
import { describeOutboxes } from "../outbox-suite.js";
import { describeRefusals } from "../refusal-suite.js";
import { describeTasks } from "../task-suite.js";

const STORE = { isDurable: true, isShared: true };

/**
 * The money, the outbox, and the callers.
 *
 * @param tellsOthers whether LISTEN works, which tells the changes of callers
 */
export function describePostgresBasics(
  title: string,
  open: OpenLedger<PostgresLedger>,
  randomRuns: number,
  tellsOthers = true,
): void {
  describeLedger(title, open, { ...STORE, randomRuns });
  describeOutboxes(title, open, STORE);
  describeCallers(title, open, { ...STORE, tellsOthers });
}

/** What else the ledger can do. */
export function describePostgresRest(
  title: string,
  open: OpenLedger<PostgresLedger>,
  randomRuns: number,
): void {
  describeReports(title, open);
  describeBudgetStore(title, open, STORE);
  describeHistory(title, open, STORE);
  describeKeptHolds(title, open, STORE);
  describeTasks(title, open, { ...STORE, canContinue: true, randomRuns });
  describeRefusals(title, open);
}
