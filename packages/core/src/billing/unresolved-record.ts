import type { EntryFailure, HoldRecord, LostPolicy } from "./ledger.js";
import type { ReleasedRecord, UnresolvedRecord } from "./usage-record.js";

/** Returns the record that a sweep makes of a lost hold. */
export function toUnresolvedRecord(hold: HoldRecord, onLost: LostPolicy): UnresolvedRecord {
  const { id, time, caller, group, model, operation, amount } = hold;
  const charge = amount === null || onLost === "charge" ? amount : "0";
  return { state: "unresolved", id, time, caller, group, model, operation, images: 0, charge, held: amount };
}

/** Returns the record that a release makes of an unresolved record. */
export function toReleasedRecord(record: UnresolvedRecord): ReleasedRecord {
  return { ...record, state: "released", charge: record.charge === null ? null : "0" };
}

/**
 * Reports the holds that a sweep could not end, after the others were ended.
 *
 * @throws AggregateError if there are such holds and `onFailure` is absent
 */
export function reportFailures(
  failures: readonly EntryFailure[],
  onFailure: ((failure: EntryFailure) => void) | undefined,
): void {
  if (onFailure !== undefined) {
    for (const failure of failures) onFailure(failure);
  } else if (failures.length > 0) {
    const ids = failures.map(({ id }) => id.slice(0, 100)).join(", ");
    throw new AggregateError(
      failures.map(({ error }) => error),
      `${failures.length} lost holds cannot be ended: ${ids}`,
    );
  }
}
