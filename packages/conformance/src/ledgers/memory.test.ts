import { createMemoryLedger } from "@calotype/core/billing";
import { createMinimalLedger } from "@calotype/core/stores";
import { describeCallers } from "../caller-suite.js";
import { describeTwoPhase } from "../ledger-suite/describe-two-phase.js";
import {
  describeBudgetStore,
  describeHistory,
  describeKeptHolds,
  describeLedger,
  describeReports,
} from "../ledger-suite.js";
import { describeOutboxes } from "../outbox-suite.js";
import { describeTasks } from "../task-suite.js";

const open = ({ now }: { readonly now: () => number }) => ({ ledger: createMemoryLedger({ now }) });
const openMinimal = ({ now }: { readonly now: () => number }) => ({ ledger: createMinimalLedger({ now }) });

describeLedger("in memory", open);
describeTwoPhase("in memory", open);
describeReports("in memory", open);
describeBudgetStore("in memory", open);
describeHistory("in memory", open);
describeKeptHolds("in memory", open);
describeTasks("in memory", open, { canContinue: true, queueLength: 450 });
describeOutboxes("in memory", open);
describeCallers("in memory", open);
describeLedger("in memory with the money alone", openMinimal, { randomRuns: 40 });
describeTwoPhase("in memory with the money alone", openMinimal);
