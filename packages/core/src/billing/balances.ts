import { type Decimal, formatDecimal, readAmount } from "./decimal.js";
import type { Balance } from "./ledger.js";

/** What each caller spent and has under way, exact. An amount of `null` counts as 0. */
export interface Balances {
  of(caller: string): Balance;
  /** Whether `settled + held + amount ≤ budget`; always without a budget. */
  hasRoom(caller: string, amount: string | null, budget: string | undefined): boolean;
  add(caller: string, part: keyof Balance, amount: string | null): void;
  subtract(caller: string, part: keyof Balance, amount: string | null): void;
}

type Account = Readonly<Record<keyof Balance, Decimal>>;

const EMPTY: Account = { settled: readAmount(null), held: readAmount(null) };

export function createBalances(): Balances {
  const accounts = new Map<string, Account>();
  const accountOf = (caller: string): Account => accounts.get(caller) ?? EMPTY;

  function change(caller: string, part: keyof Balance, by: Decimal): void {
    const account = accountOf(caller);
    const changed = { ...account, [part]: account[part].plus(by) };
    // An empty account is as good as none, so callers that never spent anything take no memory.
    if (changed.settled.eq(0) && changed.held.eq(0)) accounts.delete(caller);
    else accounts.set(caller, changed);
  }

  return {
    of(caller) {
      const { settled, held } = accountOf(caller);
      return { settled: formatDecimal(settled), held: formatDecimal(held) };
    },
    hasRoom(caller, amount, budget) {
      if (budget === undefined) return true;
      const { settled, held } = accountOf(caller);
      return settled.plus(held).plus(readAmount(amount)).lte(budget);
    },
    add: (caller, part, amount) => change(caller, part, readAmount(amount)),
    subtract: (caller, part, amount) => change(caller, part, readAmount(amount).neg()),
  };
}
