import { createMemoryLedger } from "@calotype/core/billing";
import { describeCallers } from "../caller-suite.js";
import { describeLedger } from "../ledger-suite.js";
import { describeTasks } from "../task-suite.js";

describeLedger("in memory", ({ now }) => ({ ledger: createMemoryLedger({ now }) }), {
  canContinue: true,
  keepsTotals: true,
});
describeTasks("in memory", ({ now }) => ({ ledger: createMemoryLedger({ now }) }), {
  canContinue: true,
  queueLength: 450,
});
describeCallers("in memory", ({ now }) => ({ ledger: createMemoryLedger({ now }) }));
