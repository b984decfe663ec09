import type { MinimalLedger } from "../../billing/ledger.js";
import { findAbility } from "../../billing/ledger-ability.js";
import { GatewayError } from "../../errors.js";
import { USAGE_HISTORY } from "./history-store.js";
import { type GatewayUsage } from "./usage-history.js";
import { USAGE_REPORTS } from "./usage-reports.js";

/** Creates the reports of a gateway. */
export function createGatewayUsage(ledger: MinimalLedger): GatewayUsage {
  const reports = findAbility(ledger, USAGE_REPORTS);
  const history = findAbility(ledger, USAGE_HISTORY);
  return {
    balance: (caller) => ledger.balance(caller),
    records: (filter, options) => need(reports).records(filter, options),
    totals: async (by, filter, options) => await need(reports).totals(by, filter, options),
    series: async (query, options) => await need(history).series(query, options),
    page: async (query, options) => await need(history).page(query, options),
    list: async function* (query, options) {
      yield* need(history).list(query, options);
    },
    find: async (id) => await need(history).find(id),
  };
}

function need<Ability>(found: Ability | undefined): Ability {
  if (found !== undefined) return found;
  throw new GatewayError("no_totals", "The ledger of this gateway keeps no totals.");
}
