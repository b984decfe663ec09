import {
  checkHold,
  checkRecord,
  type HoldRecord,
  type SettledRecord,
  toInstant,
} from "@calotype/core/billing";

/** A hold as it is written; a copy, so that nothing changes it meanwhile. */
export type HoldEntry = Pick<HoldRecord, "id" | "caller" | "amount" | "budget" | "ttlMs"> & {
  readonly text: string;
};

/** A settled record as it is written. */
export type RecordEntry = Pick<SettledRecord, "id" | "caller" | "model" | "channel" | "images" | "charge"> & {
  /** Milliseconds since 1970. */
  readonly instant: number;
  readonly text: string;
};

/** The input of a release. */
export interface ReleaseEntry {
  readonly id: string;
  /** The caller, if the hold may not have been made yet. */
  readonly unsureCaller: string | undefined;
}

/** Throws a `RangeError` if a ledger cannot keep the hold. */
export function toHoldEntry(hold: HoldRecord): HoldEntry {
  checkHold(hold);
  const { id, caller, amount, budget, ttlMs } = hold;
  return { id, caller, amount, budget, ttlMs, text: JSON.stringify(hold) };
}

/** Throws a `RangeError` if a ledger cannot keep the record. */
export function toRecordEntry(record: SettledRecord): RecordEntry {
  checkRecord(record);
  const { id, caller, model, channel, images, charge } = record;
  const instant = toInstant(record.time, "time");
  return { id, caller, model, channel, images, charge, instant, text: JSON.stringify(record) };
}
