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

const ZERO = readAmount(null);
const EMPTY: Account = { settled: ZERO, held: ZERO };

export function createBalances(): Balances {
  const accounts = new Map<string, Account>();
  const accountOf = (caller: string): Account => accounts.get(caller) ?? EMPTY;

  function set(caller: string, { settled, held }: Account): void {
    // An empty account is as good as none, so callers that never spent anything take no memory.
    if (settled.eq(ZERO) && held.eq(ZERO)) accounts.delete(caller);
    else accounts.set(caller, { settled, held });
  }

  return {
    of(caller) {
      const { settled, held } = accountOf(caller);
      return { settled: formatDecimal(settled), held: formatDecimal(held) };
    },
    hasRoom(caller, amount, budget) {
      if (budget === undefined) return true;
      const { settled, held } = accountOf(caller);
      return settled.plus(held).plus(readAmount(amount)).lte(readAmount(budget));
    },
    add(caller, part, amount) {
      const account = accountOf(caller);
      set(caller, { ...account, [part]: account[part].plus(readAmount(amount)) });
    },
    subtract(caller, part, amount) {
      const account = accountOf(caller);
      set(caller, { ...account, [part]: account[part].minus(readAmount(amount)) });
    },
  };
}
