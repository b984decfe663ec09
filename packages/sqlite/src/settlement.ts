import {
  checkRecord,
  type EntryFailure,
  type LostPolicy,
  type SettledRecord,
  toReleasedRecord,
  toUnresolvedRecord,
  type UnresolvedRecord,
  type UsageRecord,
} from "@calotype/core/billing";
import type { Balances } from "./balances.js";
import type { Holds } from "./holds.js";
import { toMoney } from "./money.js";
import type { Records } from "./records.js";

/** Ends holds. Everything here runs inside a transaction. */
export interface Settlement {
  settle(record: SettledRecord): void;
  release(id: string): void;
  sweep(onLost: LostPolicy, own: boolean): Swept;
}

/** The records of a sweep, and the holds that it could not end. */
interface Swept {
  readonly records: readonly UnresolvedRecord[];
  readonly failures: readonly EntryFailure[];
}

/** What a settlement moves money between. */
export interface SettlementContext {
  readonly balances: Balances;
  readonly holds: Holds;
  readonly records: Records;
}

/** Joins holds, records and balances. */
export function createSettlement({ balances, holds, records }: SettlementContext): Settlement {
  const keep = (record: UsageRecord): void => {
    records.put(record);
    balances.change(record.caller, { settled: toMoney(record.charge) });
  };
  /** Removes a replaced record from the balance. */
  const takeBack = (record: UsageRecord): void => {
    balances.change(record.caller, { settled: toMoney(record.charge).neg() });
  };

  return {
    settle: (record) => {
      checkRecord(record);
      if (!holds.end(record.id)) {
        const known = records.find(record.id);
        if (known?.state === "settled") return;
        // A sweep has already ended the hold.
        if (known !== undefined) takeBack(known);
      }
      keep(record);
    },
    release: (id) => {
      if (holds.end(id)) return;
      const known = records.find(id);
      if (known?.state !== "unresolved") return;
      takeBack(known);
      keep(toReleasedRecord(known));
    },
    sweep: (onLost, own) => {
      const lost = holds.findLost({ own });
      const swept = lost.holds.map((hold) => {
        const record = toUnresolvedRecord(hold, onLost);
        holds.end(hold.id);
        keep(record);
        return record;
      });
      return { records: swept, failures: lost.failures };
    },
  };
}
