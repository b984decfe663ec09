import type { DatabaseSync } from "node:sqlite";
import {
  checkHold,
  compareAge,
  type EntryFailure,
  type HoldRecord,
  type HoldResult,
  parseHold,
} from "@calotype/core/billing";
import type { Balances } from "./balances.js";
import { toMoney } from "./money.js";
import type { Owner } from "./owner.js";
import { type Row, readText } from "./read-column.js";

/** The open holds. Everything here runs inside a transaction. */
export interface Holds {
  /** Sets the money aside where the budget allows it; does nothing for an id that is known. */
  open(hold: HoldRecord): HoldResult;
  /** Takes a hold away, and its money from what is held. False when there is none. */
  end(id: string): boolean;
  /** The lost holds: holds whose time is over and holds of dead owners; with `own` also those of this owner. */
  findLost(options: { readonly own: boolean }): LostHolds;
}

/** The lost holds, the oldest first, and the holds that cannot be read. */
interface LostHolds {
  readonly holds: readonly HoldRecord[];
  readonly failures: readonly EntryFailure[];
}

/** What holds touch beside their own table. */
export interface HoldsContext {
  readonly balances: Balances;
  readonly owner: Owner;
  readonly hasRecord: (id: string) => boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The holds in the database. */
export function createHolds(database: DatabaseSync, context: HoldsContext): Holds {
  const { balances, owner, hasRecord, now } = context;
  const select = database.prepare("SELECT 1 FROM holds WHERE id = ?");
  const insert = database.prepare("INSERT INTO holds (id, owner, expires_at, hold) VALUES (?, ?, ?, ?)");
  const remove = database.prepare("DELETE FROM holds WHERE id = ? RETURNING hold");
  const selectLost = database.prepare(
    `SELECT id, hold FROM holds WHERE expires_at <= :now
       OR (owner = :self AND :own)
       OR (owner <> :self AND owner NOT IN (SELECT id FROM owners WHERE alive_until > :now))`,
  );
  const forgetDead = database.prepare("DELETE FROM owners WHERE alive_until <= ? AND id <> ?");

  return {
    open: (hold) => {
      checkHold(hold);
      if (select.get(hold.id) !== undefined || hasRecord(hold.id)) return { ok: true };
      const amount = toMoney(hold.amount);
      const balance = balances.read(hold.caller);
      if (hold.budget !== undefined) {
        const sum = amount.plus(balance.settled).plus(balance.held);
        if (sum.gt(toMoney(hold.budget))) return { ok: false, balance };
      }
      owner.renewWhenDue();
      insert.run(hold.id, owner.id, Math.ceil(now() + hold.ttlMs), JSON.stringify(hold));
      balances.change(hold.caller, { held: amount });
      return { ok: true };
    },
    end: (id) => {
      const row = remove.get(id);
      if (row === undefined) return false;
      const hold = parseHold(readText(row, "hold"));
      balances.change(hold.caller, { held: toMoney(hold.amount).neg() });
      return true;
    },
    findLost: ({ own }) => {
      const instant = Math.floor(now());
      const rows = selectLost.all({ now: instant, self: owner.id, own: own ? 1 : 0 });
      forgetDead.run(instant, owner.id);
      return readHolds(rows);
    },
  };
}

function readHolds(rows: readonly Row[]): LostHolds {
  const holds: HoldRecord[] = [];
  const failures: EntryFailure[] = [];
  for (const row of rows) {
    const id = readText(row, "id");
    try {
      holds.push({ ...parseHold(readText(row, "hold")), id });
    } catch (error) {
      failures.push({ id, error });
    }
  }
  return { holds: holds.toSorted(compareAge), failures };
}
