import { USER_PREFIX } from "../../auth/check-caller.js";
import { type BudgetPeriod, readBudget } from "../../billing/budget.js";
import type { MinimalLedger } from "../../billing/ledger.js";
import type { Caller } from "../../types.js";
import { addDecimals, formatDecimal, readDecimal, subtractDecimal } from "../../util/decimal.js";
import { readListLimit } from "../../util/list-limit.js";
import { findPeriod, parsePeriodKey } from "../periods/periods.js";
import type { BudgetStore, CallerAccount, PeriodBalance, PeriodFilter } from "./budget-store.js";

/** A signed-in user of the app, as far as the ledger knows it. */
export interface UserBudget extends Pick<Caller, "id" | "budget"> {
  /** The account in the present period of that budget, or over all time. */
  readonly spent: BudgetStatus;
}

/** A page of {@link BudgetReports.listUsers}. */
export interface UserBudgetPage {
  readonly users: readonly UserBudget[];
  /** Pass it as `after` for the next page. Absent on the last page. */
  readonly next?: string;
}

/** What a caller has spent of its budget, and what is left. Amounts are decimal strings. */
export interface BudgetStatus {
  /** The charges. */
  readonly settled: string;
  /** The open holds. */
  readonly held: string;
  /** The budget; absent without one. */
  readonly limit?: string;
  /** What a request may still cost: `limit - settled - held`, at least 0. Absent without a budget. */
  readonly left?: string;
  /** The present period, in milliseconds since 1970; absent for a budget over all time. `to` is its end. */
  readonly from?: number;
  readonly to?: number;
}

/** Reads budgets. */
export interface BudgetReports {
  /**
   * Reads the present period of a caller's budget; for a budget over all time, or without one, the sums over all time.
   *
   * @throws RangeError for a budget that cannot be read. TypeError if it has a period and the ledger does not count by period.
   * @example
   * ```ts
   * import type { Gateway } from "@calotype/core";
   *
   * async function readLeft(gateway: Gateway): Promise<string | undefined> {
   *   const { left } = await gateway.budgets.read({ id: "web-shop", budget: { amount: "50", period: "month" } });
   *   return left;
   * }
   * ```
   */
  read(caller: Pick<Caller, "id" | "budget">): Promise<BudgetStatus>;
  /**
   * Reads the budgets of any number of callers, in their order, as {@link BudgetReports.read} does. The ledgers in memory, of
   * `@calotype/sqlite` and of `@calotype/postgres` are asked once for each thousand callers whose budgets have the same period;
   * any other ledger is asked for each caller.
   *
   * @throws RangeError and TypeError as `read`
   */
  readAll(callers: readonly Pick<Caller, "id" | "budget">[]): Promise<readonly BudgetStatus[]>;
  /**
   * The accounts of past and present periods, the newest first.
   *
   * @throws RangeError for a wrong limit. TypeError if the ledger does not count by period.
   */
  list(filter?: PeriodFilter): Promise<readonly PeriodBalance[]>;
  /**
   * The signed-in users whose requests were held or charged, in the order of their ids. Only the function `caller` of the app knows
   * their budgets, so `budget` is that of the last request that had one; absent if none had.
   *
   * @param page `after`: the `next` of the page before. `limit`: from 1 to 1,000, default 100.
   * @throws RangeError for a wrong limit. TypeError if the ledger cannot list them.
   */
  listUsers(page?: {
    readonly after?: string | undefined;
    readonly limit?: number | undefined;
  }): Promise<UserBudgetPage>;
}

/** Creates the reports of a gateway. */
export function createBudgetReports(
  ledger: MinimalLedger,
  store: BudgetStore | undefined,
  now: () => number,
): BudgetReports {
  const read: BudgetReports["read"] = async ({ id, budget }) => {
    if (budget === undefined) return await readTotal(id);
    const { budget: limit, period } = readBudget(budget);
    if (period === undefined) return withLimit(await readTotal(id), limit);
    const { settled, held, from, to } = await requireStore(store).balance(id, period);
    return withLimit({ settled, held, from, to }, limit);
  };
  return {
    read,
    async readAll(callers) {
      const statuses: BudgetStatus[] = [];
      if (store?.balances === undefined) {
        for (const caller of callers) statuses.push(await read(caller));
        return statuses;
      }
      for (const { period, members } of groupByPeriod(callers)) {
        for (let start = 0; start < members.length; start += MAX_BALANCES) {
          const part = members.slice(start, start + MAX_BALANCES);
          const balances = await store.balances(
            part.map(({ id }) => id),
            period,
          );
          for (const [at, { index, limit }] of part.entries()) {
            const balance = balances[at] ?? { settled: "0", held: "0" };
            statuses[index] = limit === undefined ? balance : withLimit(balance, limit);
          }
        }
      }
      return statuses;
    },
    list: async (filter) => await requireStore(store).list(filter),
    async listUsers({ after = USER_PREFIX, limit } = {}) {
      if (store?.accounts === undefined) {
        throw new TypeError("The ledger of this gateway does not list the accounts of signed-in users.");
      }
      const most = readListLimit(limit);
      const accounts = await store.accounts({ prefix: USER_PREFIX, after, limit: most });
      const next = accounts.length < most ? undefined : accounts.at(-1)?.caller;
      return {
        users: accounts.map((account) => toUserBudget(account, now())),
        ...(next !== undefined && { next }),
      };
    },
  };

  async function readTotal(id: string): Promise<BudgetStatus> {
    const { settled, held } = await ledger.balance(id);
    return { settled, held };
  }
}

function toUserBudget({ caller: id, settled, held, budget, newest }: CallerAccount, now: number): UserBudget {
  const total = { settled, held };
  if (budget !== null) return { id, budget, spent: withLimit(total, budget) };
  const period = newest && parsePeriodKey(newest.key);
  if (newest === undefined || newest.budget === null || period === undefined) return { id, spent: total };
  const { unit, timeZone } = period;
  const { key, from, to } = findPeriod({ unit, timeZone }, now);
  const spent = key === newest.key ? newest : { settled: "0", held: "0" };
  return {
    id,
    budget: { amount: newest.budget, period: unit, timeZone },
    spent: withLimit({ settled: spent.settled, held: spent.held, from, to }, newest.budget),
  };
}

const MAX_BALANCES = 1_000;

/** Callers whose budgets have the same period, and their places among all callers. */
interface PeriodGroup {
  readonly period: BudgetPeriod | undefined;
  readonly members: { readonly id: string; readonly index: number; readonly limit?: string }[];
}

function groupByPeriod(callers: readonly Pick<Caller, "id" | "budget">[]): Iterable<PeriodGroup> {
  const groups = new Map<string, PeriodGroup>();
  for (const [index, { id, budget }] of callers.entries()) {
    const { budget: limit, period } =
      budget === undefined ? { budget: undefined, period: undefined } : readBudget(budget);
    const name = period === undefined ? "" : `${period.unit} ${period.timeZone}`;
    const group = groups.get(name) ?? { period, members: [] };
    groups.set(name, group);
    group.members.push({ id, index, ...(limit !== undefined && { limit }) });
  }
  return groups.values();
}

function withLimit(status: BudgetStatus, limit: string): BudgetStatus {
  const spent = addDecimals(readDecimal(status.settled), readDecimal(status.held));
  const left = subtractDecimal(readDecimal(limit), spent);
  return { ...status, limit, left: left.units < 0n ? "0" : formatDecimal(left) };
}

function requireStore(store: BudgetStore | undefined): BudgetStore {
  if (store !== undefined) return store;
  throw new TypeError("The ledger of this gateway does not count by period.");
}
