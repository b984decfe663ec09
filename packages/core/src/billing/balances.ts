import {
  type Amount,
  addAmounts,
  formatAmount,
  isAtMost,
  NOTHING,
  readAmount,
  subtractAmount,
} from "./amount.js";
import type { Balance } from "./ledger.js";

/** What each caller spent and has under way, exact. An amount of `null` counts as 0. */
export interface Balances {
  of(caller: string): Balance;
  /** Whether `settled + held + amount ≤ budget`; always without a budget. */
  hasRoom(caller: string, amount: string | null, budget: string | undefined): boolean;
  add(caller: string, part: keyof Balance, amount: string | null): void;
  subtract(caller: string, part: keyof Balance, amount: string | null): void;
}

type Account = Record<keyof Balance, Amount>;

const EMPTY: Readonly<Account> = { settled: NOTHING, held: NOTHING };

export function createBalances(): Balances {
  const accounts = new Map<string, Account>();
  const accountOf = (caller: string): Readonly<Account> => accounts.get(caller) ?? EMPTY;

  function set(caller: string, part: keyof Balance, amount: Amount): void {
    let account = accounts.get(caller);
    if (account === undefined) accounts.set(caller, (account = { ...EMPTY }));
    account[part] = amount;
    // An empty account is as good as none, so callers that never spent anything take no memory.
    if (account.settled.units === 0n && account.held.units === 0n) accounts.delete(caller);
  }

  return {
    of(caller) {
      const { settled, held } = accountOf(caller);
      return { settled: formatAmount(settled), held: formatAmount(held) };
    },
    hasRoom(caller, amount, budget) {
      if (budget === undefined) return true;
      const { settled, held } = accountOf(caller);
      const wanted = addAmounts(addAmounts(settled, held), readAmount(amount));
      return isAtMost(wanted, readAmount(budget));
    },
    add(caller, part, amount) {
      set(caller, part, addAmounts(accountOf(caller)[part], readAmount(amount)));
    },
    subtract(caller, part, amount) {
      set(caller, part, subtractAmount(accountOf(caller)[part], readAmount(amount)));
    },
  };
}
