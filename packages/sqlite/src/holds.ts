import type { DatabaseSync } from "node:sqlite";
import type { Hold, HoldResult } from "@calotype/core/billing";
import type { Balances } from "./balances.js";
import { toMoney } from "./money.js";
import type { Owner } from "./owner.js";
import { readText } from "./read-column.js";

/** The open holds. Everything here runs inside a transaction. */
export interface Holds {
  /** Sets the money aside where the budget allows it; does nothing for an id that is known. */
  open(hold: Hold): HoldResult;
  /** Takes a hold away, and its money from what is held. False when there is none. */
  end(id: string): boolean;
  /** Those past their time and those of dead owners, the oldest first; with `own` also this owner's. */
  findLost(options: { readonly now: number; readonly own: boolean }): Hold[];
}

/** What holds touch beside their own table. */
export interface HoldsContext {
  readonly balances: Balances;
  readonly owner: Owner;
  readonly hasRecord: (id: string) => boolean;
}

/** The holds in the database. */
export function createHolds(database: DatabaseSync, context: HoldsContext): Holds {
  const { balances, owner, hasRecord } = context;
  const select = database.prepare("SELECT 1 FROM holds WHERE id = ?");
  const insert = database.prepare("INSERT INTO holds (id, owner, expires_at, hold) VALUES (?, ?, ?, ?)");
  const remove = database.prepare("DELETE FROM holds WHERE id = ? RETURNING hold");
  const selectLost = database.prepare(
    `SELECT hold FROM holds WHERE expires_at <= :now
       OR (owner = :self AND :own)
       OR (owner <> :self AND owner NOT IN (SELECT id FROM owners WHERE alive_until > :now))
     ORDER BY hold ->> 'time', id`,
  );
  const forgetDead = database.prepare("DELETE FROM owners WHERE alive_until <= ? AND id <> ?");

  return {
    open: (hold) => {
      if (select.get(hold.id) !== undefined || hasRecord(hold.id)) return { ok: true };
      const amount = toMoney(hold.amount);
      const balance = balances.read(hold.caller);
      if (hold.budget !== undefined) {
        const sum = amount.plus(balance.settled).plus(balance.held);
        if (sum.gt(toMoney(hold.budget))) return { ok: false, balance };
      }
      owner.renewWhenDue();
      insert.run(hold.id, owner.id, Math.ceil(hold.expiresAt), JSON.stringify(hold));
      balances.change(hold.caller, { held: amount });
      return { ok: true };
    },
    end: (id) => {
      const row = remove.get(id);
      if (row === undefined) return false;
      const hold = toHold(readText(row, "hold"));
      balances.change(hold.caller, { held: toMoney(hold.amount).neg() });
      return true;
    },
    findLost: ({ now, own }) => {
      const lost = selectLost.all({ now: Math.floor(now), self: owner.id, own: own ? 1 : 0 });
      forgetDead.run(Math.floor(now), owner.id);
      return lost.map((row) => toHold(readText(row, "hold")));
    },
  };
}

function toHold(text: string): Hold {
  const hold: Hold = JSON.parse(text);
  return hold;
}
