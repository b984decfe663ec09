import { addDecimals, ZERO } from "../util/decimal.js";
import type { KeptHoldStore, MinimalLedger } from "./ledger.js";
import {
  type Account,
  createMemoryMoney,
  createMemoryRecords,
  isCovered,
  type MemoryAccounts,
  type MemoryLedgerOptions,
  toBalance,
} from "./memory-ledger.js";

/**
 * A ledger in the memory of this process that keeps the money and no more: no reports, totals, tasks, callers, or budgets with a
 * period. For gateways that need none of them.
 *
 * @throws RangeError if `maxRecords` is not a whole number of at least 1
 */
export function createMinimalLedger({
  now = Date.now,
  maxRecords,
}: MemoryLedgerOptions = {}): MinimalLedger & KeptHoldStore {
  const records = createMemoryRecords(now, maxRecords);
  return createMemoryMoney({ now, accounts: createAccounts(), records }).ledger;
}

function createAccounts(): MemoryAccounts {
  const accounts = new Map<string, Account>();
  const find = (caller: string): Account => accounts.get(caller) ?? { settled: ZERO, held: ZERO };
  const add: MemoryAccounts["add"] = (field, caller, amount) => {
    const account = find(caller);
    account[field] = addDecimals(account[field], amount);
    // So that callers that never spent anything take no memory.
    if (account.settled.units === 0n && account.held.units === 0n) accounts.delete(caller);
    else accounts.set(caller, account);
  };
  return {
    of: (caller) => toBalance(find(caller)),
    periodOf: () => undefined,
    reserve(hold, amount) {
      const account = find(hold.caller);
      if (!isCovered(hold, amount, account)) return toBalance(account);
      add("held", hold.caller, amount, undefined);
      return undefined;
    },
    add,
  };
}
