import type { Hold, LostPolicy } from "./ledger.js";
import type { UnresolvedRecord } from "./usage-record.js";

/** The record of a request whose end nobody told, from its hold. */
export function toUnresolvedRecord(hold: Hold, onLost: LostPolicy): UnresolvedRecord {
  const { id, time, caller, group, model, operation, amount } = hold;
  const charge = amount === null || onLost === "charge" ? amount : "0";
  return { state: "unresolved", id, time, caller, group, model, operation, images: 0, charge, held: amount };
}
