import { createMemoryLedger } from "@calotype/core/billing";
import { describeLedger } from "../ledger-suite.js";

describeLedger("in memory", ({ now }) => ({ ledger: createMemoryLedger({ now }) }));
