import type { MinimalLedger } from "../../billing/ledger.js";
import { findAbility } from "../../billing/ledger-ability.js";
import type { PriceTables } from "../../billing/model-details.js";
import { GatewayError } from "../../errors.js";
import type { Feature } from "../../kernel/feature.js";
import type { OptionsProblem } from "../../options/options.js";
import { findPriceProblems, throwProblems } from "../../options/problems.js";
import { USAGE_HISTORY } from "./history-store.js";
import { isReportSource, NO_REPORT_SOURCE, type ReportSource } from "./report-source.js";
import type { GatewayUsage } from "./usage-history.js";
import { USAGE_REPORTS } from "./usage-reports.js";

/** What {@link usage} adds to a gateway. */
export interface UsageApi {
  /** What was used and charged, and the open holds of callers. Read-only. */
  readonly usage: GatewayUsage;
  /** Returns the prices that are in effect now. `undefined` without the option `billing`. */
  prices(): Promise<PriceTables | undefined>;
  /**
   * Checks prices with the rules of the option `billing`, before `calculateCharge` or `repriceRecords` use them. Returns every
   * problem with its path, such as `model_details["image-*"].model_price`; an empty list if there is none. Whether the gateway
   * has the models is not checked, because records may have others.
   */
  checkPrices(tables: unknown): readonly OptionsProblem[];
}

/** The options of {@link usage}. */
export interface UsageOptions {
  /** What the reports read, as `reports` of `createGateway`. Default: the ledger, which must keep reports. */
  readonly reports?: ReportSource | undefined;
}

/** Reports of what was used and charged, and the prices to charge it again with. */
export function usage({ reports }: UsageOptions = {}): Feature<UsageApi> {
  return {
    name: "usage",
    setup({ ledger, load }) {
      if (reports !== undefined && !isReportSource(reports)) {
        throwProblems([{ path: "reports", message: NO_REPORT_SOURCE }]);
      }
      return {
        api: {
          usage: createGatewayUsage(ledger, reports),
          prices: async () => (await load()).prices?.tables,
          checkPrices: findPriceProblems,
        },
      };
    },
  };
}

/** Creates the reports of a gateway. Balances are those of the ledger, whatever the other reports read. */
function createGatewayUsage(ledger: MinimalLedger, source: ReportSource | undefined): GatewayUsage {
  const reports = source ?? findAbility(ledger, USAGE_REPORTS);
  const history = source?.history ?? findAbility(ledger, USAGE_HISTORY);
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
