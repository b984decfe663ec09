import { type Hold, type SettledRecord, toInstant } from "@calotype/core/billing";
import { checkHold, checkRecord } from "./check-input.js";

/** A hold as it is written; a copy, so that nothing changes it meanwhile. */
export type HoldEntry = Pick<Hold, "id" | "caller" | "amount" | "budget" | "expiresAt"> & {
  readonly text: string;
};

/** A settled record as it is written. */
export type RecordEntry = Pick<SettledRecord, "id" | "caller" | "model" | "channel" | "images" | "charge"> & {
  /** Milliseconds since 1970. */
  readonly instant: number;
  readonly text: string;
};

/** Throws where PostgreSQL would not keep it as it is. */
export function toHoldEntry(hold: Hold): HoldEntry {
  checkHold(hold);
  const { id, caller, amount, budget, expiresAt } = hold;
  return { id, caller, amount, budget, expiresAt, text: JSON.stringify(hold) };
}

/** Throws where PostgreSQL would not keep it as it is. */
export function toRecordEntry(record: SettledRecord): RecordEntry {
  checkRecord(record);
  const { id, caller, model, channel, images, charge } = record;
  const instant = toInstant(record.time, "time");
  return { id, caller, model, channel, images, charge, instant, text: JSON.stringify(record) };
}
