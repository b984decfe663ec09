import { GatewayError } from "../errors.js";
import type { Ledger } from "./ledger.js";
import type { GatewayUsage, HistoryLedger, UsageHistory } from "./usage-history.js";

/** Creates the reports of a gateway. */
export function createGatewayUsage(ledger: Ledger & Partial<HistoryLedger>): GatewayUsage {
  const history = (): UsageHistory => {
    if (ledger.history !== undefined) return ledger.history;
    throw new GatewayError("no_totals", "The ledger of this gateway keeps no totals.");
  };
  return {
    balance: (caller) => ledger.balance(caller),
    records: (filter) => ledger.records(filter),
    totals: (by, filter) => ledger.totals(by, filter),
    series: async (query) => await history().series(query),
    page: async (query) => await history().page(query),
    find: async (id) => await history().find(id),
  };
}
