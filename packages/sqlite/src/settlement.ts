import {
  type LostPolicy,
  type SettledRecord,
  toUnresolvedRecord,
  type UnresolvedRecord,
} from "@calotype/core/billing";
import type { Balances } from "./balances.js";
import type { Holds } from "./holds.js";
import { toMoney } from "./money.js";
import type { Records } from "./records.js";

/** How holds become records. Everything here runs inside a transaction. */
export interface Settlement {
  settle(record: SettledRecord): void;
  sweep(options: { readonly onLost: LostPolicy; readonly own?: boolean }): UnresolvedRecord[];
}

/** What a settlement moves money between. */
export interface SettlementContext {
  readonly balances: Balances;
  readonly holds: Holds;
  readonly records: Records;
  readonly now: () => number;
}

/** Joins holds, records and balances. */
export function createSettlement({ balances, holds, records, now }: SettlementContext): Settlement {
  const keep = (record: SettledRecord | UnresolvedRecord): void => {
    records.put(record);
    balances.change(record.caller, { settled: toMoney(record.charge) });
  };

  return {
    settle: (record) => {
      if (!holds.end(record.id)) {
        const known = records.find(record.id);
        if (known?.state === "settled") return;
        // A sweep came first. What it charged is taken back: now the end is known.
        if (known !== undefined) balances.change(known.caller, { settled: toMoney(known.charge).neg() });
      }
      keep(record);
    },
    sweep: ({ onLost, own = false }) => {
      const lost = holds.findLost({ now: now(), own });
      return lost.map((hold) => {
        const record = toUnresolvedRecord(hold, onLost);
        holds.end(hold.id);
        keep(record);
        return record;
      });
    },
  };
}
