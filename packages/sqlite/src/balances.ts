import type { DatabaseSync } from "node:sqlite";
import type { Balance } from "@calotype/core/billing";
import { addMoney, type Money } from "./money.js";
import { readText } from "./read-column.js";

/** How a balance changes; an amount below 0 lowers it. */
interface BalanceChange {
  readonly settled?: Money;
  readonly held?: Money;
}

/** What each caller spent and has under way. */
export interface Balances {
  /** Zeros for a caller that was never seen. */
  read(caller: string): Balance;
  /** Only inside a transaction, together with the hold or record that it is the sum of. */
  change(caller: string, change: BalanceChange): void;
}

/** The balances in the database. */
export function createBalances(database: DatabaseSync): Balances {
  const select = database.prepare("SELECT settled, held FROM balances WHERE caller = ?");
  const upsert = database.prepare(
    `INSERT INTO balances (caller, settled, held) VALUES (?, ?, ?)
     ON CONFLICT (caller) DO UPDATE SET settled = excluded.settled, held = excluded.held`,
  );

  const read = (caller: string): Balance => {
    const row = select.get(caller);
    if (row === undefined) return { settled: "0", held: "0" };
    return { settled: readText(row, "settled"), held: readText(row, "held") };
  };
  return {
    read,
    change: (caller, { settled, held }) => {
      const balance = read(caller);
      upsert.run(caller, add(balance.settled, settled), add(balance.held, held));
    },
  };
}

function add(text: string, amount: Money | undefined): string {
  return amount === undefined ? text : addMoney(text, amount);
}
