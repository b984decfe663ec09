import { OUTBOX, RECORDS_IN_ORDER } from "@calotype/core/stores";
import { describe } from "vitest";
import { itIsFound, type LedgerStore, type OpenLedger } from "./ledger-suite/open-ledger.js";
import { describeAlertMessages } from "./outbox-suite/describe-alert-messages.js";
import { describeAlerts } from "./outbox-suite/describe-alerts.js";
import { describeLeases } from "./outbox-suite/describe-leases.js";
import { describeMessages } from "./outbox-suite/describe-messages.js";
import { describeOrder } from "./outbox-suite/describe-order.js";
import type { TestedLedger } from "./outbox-suite/tested-ledger.js";

/** The tests of `OUTBOX`: of its kinds of entries, of alerts and of messages. What every ledger delivers is in `ledger-suite.ts`. */
export function describeOutboxes(
  name: string,
  open: OpenLedger<TestedLedger>,
  store: LedgerStore = {},
): void {
  describe(`the outbox of a ledger ${name}`, () => {
    itIsFound(open, OUTBOX);
    itIsFound(open, RECORDS_IN_ORDER);
    describeLeases(open);
    describeOrder(open);
    describeAlerts(open);
    describeMessages(open);
    describeAlertMessages(open, store);
  });
}
