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
    records: (filter, options) => ledger.records(filter, options),
    totals: (by, filter, options) => ledger.totals(by, filter, options),
    series: async (query, options) => await history().series(query, options),
    page: async (query, options) => await history().page(query, options),
    list: async function* (query, options) {
      yield* history().list(query, options);
    },
    find: async (id) => await history().find(id),
  };
}
