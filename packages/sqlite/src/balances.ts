import type { DatabaseSync } from "node:sqlite";
import {
  type AccountPage,
  addDecimals,
  type Balance,
  type BudgetStore,
  type CallerAccount,
  type Decimal,
  findAlerts,
  findPeriod,
  formatDecimal,
  type HoldRecord,
  isAtMost,
  negateDecimal,
  type PeriodBalance,
  type PeriodFilter,
  readDecimal,
  readListLimit,
  type StoredHold,
  toPeriodBalance,
} from "@calotype/core/stores";
import type { EntryTable } from "./outbox-table.js";
import { type Row, readNumber, readText, readTextOrNull } from "./read-column.js";

/**
 * The settled and held amounts of each caller, over all time and in its periods. A change also
 * counts in the period, if there is one. Call everything in the transaction that changes the hold or record.
 */
export interface Balances {
  /** Returns zeros for an unknown caller. */
  read(caller: string): Balance;
  /** Adds the amount of a hold, if its budget covers it. */
  reserve(hold: HoldRecord): Reservation;
  /** Takes back the amount of a hold. */
  free(hold: StoredHold): void;
  charge(caller: string, amount: Decimal, period: string | undefined): void;
  /** Takes back a charge. */
  refund(caller: string, amount: Decimal, period: string | undefined): void;
}

/** The hold as it is to be stored, or the balance that its budget was compared with. */
type Reservation =
  | { readonly ok: true; readonly hold: StoredHold }
  | { readonly ok: false; readonly balance: Balance };

/** What balances and their store need. */
export interface BalancesContext {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Runs a query as soon as the database is not locked. */
  readonly read: <T>(query: () => T) => Promise<T>;
  readonly outbox: Pick<EntryTable, "addAlert">;
}

/** The balances in the database. */
export function createBalances(
  database: DatabaseSync,
  { now, read: readWhenFree, outbox }: BalancesContext,
): { readonly balances: Balances; readonly budgets: BudgetStore } {
  const totals = createAccounts(database);
  const periods = createPeriodAccounts(database);
  const listAccounts = createAccountList(database);

  const find = (caller: string, period: string | undefined): Account =>
    period === undefined ? totals.read(caller) : periods.read(caller, period);
  const put = (caller: string, period: string | undefined, account: Account): void =>
    period === undefined ? totals.put(caller, account) : periods.put(caller, period, account);

  function settle(caller: string, period: string | undefined, amount: Decimal): void {
    const account = find(caller, period);
    const settled = addDecimals(readDecimal(account.settled), amount);
    // A charge that is taken back reaches nothing.
    const reached = amount.units > 0n ? findAlerts({ ...account, settled }) : [];
    const { alerted = account.alerted } = { alerted: reached.at(-1) };
    put(caller, period, { ...account, settled: formatDecimal(settled), alerted });
    for (const threshold of reached) {
      outbox.addAlert({
        caller,
        periodKey: period ?? "",
        threshold,
        budget: account.budget ?? "0",
        settled: formatDecimal(settled),
      });
    }
  }

  const settleEverywhere = (caller: string, amount: Decimal, period: string | undefined): void => {
    if (amount.units === 0n) return;
    settle(caller, undefined, amount);
    if (period !== undefined) settle(caller, period, amount);
  };

  const balances: Balances = {
    read: (caller) => toBalance(totals.read(caller)),
    reserve: (hold) => {
      const { caller, amount, budget } = hold;
      const held = readDecimal(amount);
      const periodKey = hold.period && findPeriod(hold.period, now()).key;
      const account = find(caller, periodKey);
      if (budget !== undefined) {
        const spent = addDecimals(readDecimal(account.settled), readDecimal(account.held));
        if (!isAtMost(addDecimals(spent, held), readDecimal(budget))) {
          return { ok: false, balance: toBalance(account) };
        }
      }
      // Alerts follow the budget that is in use.
      const total = find(caller, undefined);
      const totalBudget = periodKey === undefined ? (budget ?? null) : null;
      put(caller, undefined, { ...total, held: add(total.held, held), budget: totalBudget });
      if (periodKey === undefined) return { ok: true, hold };
      put(caller, periodKey, { ...account, held: add(account.held, held), budget: budget ?? null });
      return { ok: true, hold: { ...hold, periodKey } };
    },
    free: ({ caller, amount, periodKey }) => {
      const freed = negateDecimal(readDecimal(amount));
      for (const period of periodKey === undefined ? [undefined] : [undefined, periodKey]) {
        const account = find(caller, period);
        put(caller, period, { ...account, held: add(account.held, freed) });
      }
    },
    charge: settleEverywhere,
    refund: (caller, amount, period) => settleEverywhere(caller, negateDecimal(amount), period),
  };

  const budgets: BudgetStore = {
    balance: async (caller, period) => {
      const { key } = findPeriod(period, now());
      return await readWhenFree(() => toPeriodBalance(caller, key, periods.read(caller, key)));
    },
    balances: async (callers, period) => {
      if (period === undefined) {
        return await readWhenFree(() => callers.map((caller) => toBalance(totals.read(caller))));
      }
      const { key, from, to } = findPeriod(period, now());
      return await readWhenFree(() =>
        callers.map((caller) => ({ ...toBalance(periods.read(caller, key)), from, to })),
      );
    },
    list: async (filter = {}) => {
      const limit = readListLimit(filter.limit);
      return await readWhenFree(() => periods.list(filter, limit));
    },
    accounts: async (page) => await readWhenFree(() => listAccounts(page)),
  };
  return { balances, budgets };
}

interface Account extends Balance {
  /** The budget of the last hold. */
  readonly budget: string | null;
  /** The highest threshold that has an alert, in percent; 0 without one. */
  readonly alerted: number;
}

const EMPTY: Account = { settled: "0", held: "0", budget: null, alerted: 0 };

const toBalance = ({ settled, held }: Account): Balance => ({ settled, held });

const add = (sum: string, amount: Decimal): string => formatDecimal(addDecimals(readDecimal(sum), amount));

function readAccount(row: Row): Account {
  if (row === undefined) return EMPTY;
  return {
    settled: readText(row, "settled"),
    held: readText(row, "held"),
    budget: readTextOrNull(row, "budget"),
    alerted: readNumber(row, "alerted"),
  };
}

interface Accounts {
  read(caller: string): Account;
  put(caller: string, account: Account): void;
}

function createAccounts(database: DatabaseSync): Accounts {
  const select = database.prepare("SELECT settled, held, budget, alerted FROM balances WHERE caller = ?");
  const upsert = database.prepare(
    `INSERT INTO balances (caller, settled, held, budget, alerted) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (caller) DO UPDATE SET settled = excluded.settled, held = excluded.held, budget = excluded.budget,
       alerted = excluded.alerted`,
  );
  return {
    read: (caller) => readAccount(select.get(caller)),
    put: (caller, { settled, held, budget, alerted }) =>
      void upsert.run(caller, settled, held, budget, alerted),
  };
}

interface PeriodAccounts {
  read(caller: string, period: string): Account;
  put(caller: string, period: string, account: Account): void;
  list(filter: PeriodFilter, limit: number): PeriodBalance[];
}

function createPeriodAccounts(database: DatabaseSync): PeriodAccounts {
  const select = database.prepare(
    "SELECT settled, held, budget, alerted FROM period_balances WHERE caller = ? AND period = ?",
  );
  const upsert = database.prepare(
    `INSERT INTO period_balances (caller, period, settled, held, budget, alerted) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (caller, period) DO UPDATE SET settled = excluded.settled, held = excluded.held,
       budget = excluded.budget, alerted = excluded.alerted`,
  );
  // The key of a period has its unit after its first day.
  const selectAll = database.prepare(
    `SELECT caller, period, settled, held FROM period_balances
     WHERE (:caller IS NULL OR caller = :caller) AND (:unit IS NULL OR period LIKE '____-__-__ ' || :unit || ' %')
     ORDER BY period DESC, caller LIMIT :limit`,
  );
  return {
    read: (caller, period) => readAccount(select.get(caller, period)),
    put: (caller, period, { settled, held, budget, alerted }) =>
      void upsert.run(caller, period, settled, held, budget, alerted),
    list: ({ caller = null, unit = null }, limit) =>
      selectAll.all({ caller, unit, limit }).map((row) =>
        toPeriodBalance(readText(row, "caller"), readText(row, "period"), {
          settled: readText(row, "settled"),
          held: readText(row, "held"),
        }),
      ),
  };
}

function createAccountList(database: DatabaseSync): (page: AccountPage) => CallerAccount[] {
  const select = database.prepare(
    `SELECT b.caller, b.settled, b.held, b.budget,
       p.period, p.settled AS period_settled, p.held AS period_held, p.budget AS period_budget
     FROM balances b LEFT JOIN period_balances p
       ON p.caller = b.caller AND p.period = (SELECT max(period) FROM period_balances WHERE caller = b.caller)
     WHERE b.caller > :after AND b.caller >= :prefix AND b.caller < :end ORDER BY b.caller LIMIT :limit`,
  );
  return ({ prefix, after, limit }) =>
    // Ids sort by their code points, of which this is the last.
    select.all({ prefix, after, limit, end: `${prefix}\u{10FFFF}` }).map((row) => {
      const key = readTextOrNull(row, "period");
      return {
        caller: readText(row, "caller"),
        settled: readText(row, "settled"),
        held: readText(row, "held"),
        budget: readTextOrNull(row, "budget"),
        ...(key !== null && {
          newest: {
            key,
            settled: readText(row, "period_settled"),
            held: readText(row, "period_held"),
            budget: readTextOrNull(row, "period_budget"),
          },
        }),
      };
    });
}
