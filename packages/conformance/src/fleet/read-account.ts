import { fromUnits, toUnits } from "../ledger-suite/units.js";
import type { FleetCaller } from "./gateway-plan.js";
import type { Fleet } from "./open-fleet.js";

/** What stands in the books of a caller. */
export interface Account {
  /** How many records. */
  readonly records: number;
  /** Their sum. */
  readonly charges: string;
  /** The same by the balance. */
  readonly settled: string | undefined;
  readonly held: string | undefined;
}

export async function readAccount(fleet: Fleet, caller: FleetCaller): Promise<Account> {
  const { records, balances } = await fleet.readBooks();
  const own = records.filter((record) => record.caller === caller);
  const charges = own.reduce((sum, { charge }) => sum + toUnits(charge), 0n);
  const balance = balances[caller];
  return {
    records: own.length,
    charges: fromUnits(charges),
    settled: balance?.settled,
    held: balance?.held,
  };
}
