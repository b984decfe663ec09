import type { BudgetPeriod } from "../../billing/budget.js";
import type { Balance } from "../../billing/ledger.js";
import type { LedgerAbility } from "../../billing/ledger-ability.js";
import type { PeriodSpan } from "../periods/periods.js";
import type { Ledger } from "../usage/usage-reports.js";

/** A caller's account in one period. */
export interface PeriodBalance extends Balance, PeriodSpan {
  /** The id of the caller. */
  readonly caller: string;
}

/** The account of a caller in a period, or over all time. */
export interface CallerBalance extends Balance, Partial<Pick<PeriodSpan, "from" | "to">> {}

/** Selects period balances; an absent field selects all. */
export interface PeriodFilter {
  readonly caller?: string | undefined;
  /** Periods with this unit. */
  readonly unit?: BudgetPeriod["unit"] | undefined;
  /** The largest number of balances, from 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
}

/** The account of a caller over all time, with the budget of its last hold. */
export interface CallerAccount extends Balance {
  readonly caller: string;
  /** A decimal string. `null`: the last hold had no budget for all time. */
  readonly budget: string | null;
  /** The account of its newest period, with the budget of the last hold in it. Absent if it has no periods. */
  readonly newest?: Balance & Pick<PeriodSpan, "key"> & Pick<CallerAccount, "budget">;
}

/** A part of the accounts, in the order of the ids. */
export interface AccountPage {
  /** What the ids begin with. */
  readonly prefix: string;
  /** Ids after this one. */
  readonly after: string;
  /** From 1 to 1,000. */
  readonly limit: number;
}

/** The charges of a caller reached a part of its budget. */
export interface BudgetAlert {
  /** The same for each delivery of this alert. Each caller, period and threshold has its own. */
  readonly id: string;
  /** The id of the caller. */
  readonly caller: string;
  /** In percent of the budget. */
  readonly threshold: BudgetThreshold;
  /** The period; absent for a budget over all time. */
  readonly period?: (BudgetPeriod & PeriodSpan) | undefined;
  /** The budget, a decimal string. */
  readonly budget: string;
  /** The charges when the threshold was reached, a decimal string. */
  readonly settled: string;
  /** When the threshold was reached, by the clock of the ledger: ISO 8601 in UTC. */
  readonly time: string;
}

/** In percent. */
export type BudgetThreshold = 50 | 80 | 100;

/**
 * Keeps the balances of periods beside those over all time. The ledgers in memory, of `@calotype/sqlite` and of
 * `@calotype/postgres` have one, as the member `budgets`. A ledger without it ignores `HoldRecord.period`; the gateway then
 * refuses budgets with a period.
 */
export interface BudgetStore {
  /** A caller's account in the period that contains the present time of the ledger. Zeros if it has none. */
  balance(caller: string, period: BudgetPeriod): Promise<PeriodBalance>;
  /**
   * The accounts of several callers, in their order: in the period that contains the present time of the ledger, or over all
   * time without a period. Zeros for a caller that has none. Absent: they are read one by one.
   *
   * @param callers at most 1,000
   */
  balances?(callers: readonly string[], period: BudgetPeriod | undefined): Promise<readonly CallerBalance[]>;
  /**
   * The accounts of past and present periods in which money was held or charged, the newest first, then by caller. They are
   * kept for good.
   */
  list(filter?: PeriodFilter): Promise<readonly PeriodBalance[]>;
  /** The accounts of all callers whose ids begin with a prefix, in pages. Absent: signed-in users cannot be listed. */
  accounts?(page: AccountPage): Promise<readonly CallerAccount[]>;
}

/** A ledger that also keeps the balances of periods. */
export interface BudgetLedger extends Ledger {
  readonly budgets: BudgetStore;
}

/** Finds the balances of periods of a ledger. */
export const BUDGET_STORE: LedgerAbility<BudgetStore> = {
  member: "budgets",
  methods: ["balance", "list"],
};
