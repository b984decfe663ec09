import { type Account, isCovered, type MemoryAccounts, toBalance } from "../../billing/memory-ledger.js";
import { compareStrings } from "../../util/compare-strings.js";
import { addDecimals, formatDecimal, ZERO } from "../../util/decimal.js";
import { readListLimit } from "../../util/list-limit.js";
import { findPeriod } from "../periods/periods.js";
import { createAlert, findAlerts, toPeriodBalance } from "./budget-alerts.js";
import type { BudgetAlert, BudgetStore, PeriodBalance } from "./budget-store.js";

interface AlertedAccount extends Account {
  /** The budget of the last hold; `null` if there is none. */
  budget: string | null;
  alerted: number;
}

const EMPTY: Readonly<AlertedAccount> = { settled: ZERO, held: ZERO, budget: null, alerted: 0 };

/** How many accounts of periods are kept. Beyond this, the oldest without open holds are dropped. */
const MAX_PERIODS = 10_000;

/**
 * Creates the accounts of the callers of a ledger in memory, over all time and by period. Each change also counts in the period,
 * if there is one.
 *
 * @param now milliseconds since 1970
 * @param addAlerts called in the step in which charges reach thresholds of a budget
 */
export function createMemoryBudgets(now: () => number, addAlerts: (alerts: readonly BudgetAlert[]) => void) {
  const totals = new Map<string, AlertedAccount>();
  /** By period, then by caller. */
  const periods = new Map<string, Map<string, AlertedAccount>>();
  let periodAccounts = 0;

  const find = (caller: string, period: string | undefined): AlertedAccount =>
    (period === undefined ? totals : periods.get(period))?.get(caller) ?? EMPTY;

  /** Returns the account to change, which is made if there is none. */
  function open(caller: string, period: string | undefined): AlertedAccount {
    const known = find(caller, period);
    if (known !== EMPTY) return known;
    const account = { ...EMPTY };
    if (period === undefined) {
      totals.set(caller, account);
    } else {
      makeRoom();
      periods.set(period, (periods.get(period) ?? new Map()).set(caller, account));
    }
    return account;
  }

  function makeRoom(): void {
    periodAccounts++;
    if (periodAccounts <= MAX_PERIODS) return;
    for (const [period, accounts] of periods) {
      for (const [caller, { held }] of accounts) {
        if (held.units !== 0n) continue;
        accounts.delete(caller);
        periodAccounts--;
        if (accounts.size === 0) periods.delete(period);
        return;
      }
    }
  }

  const add: MemoryAccounts["add"] = (field, caller, amount, period) => {
    if (field === "settled" && amount.units === 0n) return;
    const total = open(caller, undefined);
    total[field] = addDecimals(total[field], amount);
    if (period !== undefined) {
      const ofPeriod = open(caller, period);
      ofPeriod[field] = addDecimals(ofPeriod[field], amount);
    }
    removeEmpty(caller, total);
    if (field === "held" || amount.units < 0n) return;
    noteAlerts(caller, undefined);
    if (period !== undefined) noteAlerts(caller, period);
  };

  function setBudget(caller: string, period: string | undefined, budget: string | undefined): void {
    if (find(caller, period).budget === (budget ?? null)) return;
    const account = open(caller, period);
    account.budget = budget ?? null;
    if (period === undefined) removeEmpty(caller, account);
  }

  /** So that callers that never spent anything take no memory. */
  function removeEmpty(caller: string, { settled, held, budget, alerted }: AlertedAccount): void {
    if (settled.units === 0n && held.units === 0n && budget === null && alerted === 0) totals.delete(caller);
  }

  function noteAlerts(caller: string, period: string | undefined): void {
    const account = find(caller, period);
    const { budget } = account;
    const reached = findAlerts(account);
    const alerted = reached.at(-1);
    if (budget === null || alerted === undefined) return;
    account.alerted = alerted;
    const settled = formatDecimal(account.settled);
    addAlerts(
      reached.map((threshold) =>
        createAlert({ caller, periodKey: period ?? "", threshold, budget, settled, at: now() }),
      ),
    );
  }

  const store: BudgetStore = {
    async balance(caller, period) {
      const { key } = findPeriod(period, now());
      return toPeriodBalance(caller, key, toBalance(find(caller, key)));
    },
    async balances(callers, period) {
      if (period === undefined) return callers.map((caller) => toBalance(find(caller, undefined)));
      const { key, from, to } = findPeriod(period, now());
      return callers.map((caller) => ({ ...toBalance(find(caller, key)), from, to }));
    },
    async list({ caller, unit, limit } = {}) {
      const most = readListLimit(limit);
      return [...periods]
        .flatMap(([key, accounts]) =>
          Array.from(accounts, ([name, account]) => toPeriodBalance(name, key, toBalance(account))),
        )
        .filter((balance) => caller === undefined || balance.caller === caller)
        .filter(({ key }) => unit === undefined || key.split(" ")[1] === unit)
        .toSorted(comparePeriods)
        .slice(0, most);
    },
    async accounts({ prefix, after, limit }) {
      const keys = [...periods.keys()].toSorted((one, other) => compareStrings(other, one));
      return [...totals.keys()]
        .filter((caller) => caller.startsWith(prefix) && compareStrings(caller, after) > 0)
        .toSorted(compareStrings)
        .slice(0, limit)
        .map((caller) => {
          const key = keys.find((period) => find(caller, period) !== EMPTY);
          const account = showAccount(caller, undefined);
          return {
            caller,
            ...account,
            ...(key !== undefined && { newest: { key, ...showAccount(caller, key) } }),
          };
        });
    },
  };

  function showAccount(caller: string, period: string | undefined) {
    const account = find(caller, period);
    return { ...toBalance(account), budget: account.budget };
  }

  const accounts: MemoryAccounts = {
    of: (caller) => toBalance(find(caller, undefined)),
    periodOf: ({ period }) => period && findPeriod(period, now()).key,
    reserve(hold, amount, period) {
      const { caller, budget } = hold;
      const account = find(caller, period);
      if (!isCovered(hold, amount, account)) return toBalance(account);
      add("held", caller, amount, period);
      // Alerts follow the budget that is in use.
      setBudget(caller, undefined, period === undefined ? budget : undefined);
      if (period !== undefined) setBudget(caller, period, budget);
      return undefined;
    },
    add,
  };
  return { accounts, store };
}

/** The newest first, then by caller. */
function comparePeriods(one: PeriodBalance, other: PeriodBalance): number {
  return compareStrings(other.key, one.key) || compareStrings(one.caller, other.caller);
}
