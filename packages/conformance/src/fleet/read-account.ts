import { fromUnits, toUnits } from "../ledger-suite/units.js";
import type { FleetCaller } from "./gateway-plan.js";
import type { Fleet } from "./open-fleet.js";

/** The account of a caller in the ledger. */
export interface Account {
  /** The number of records. */
  readonly records: number;
  /** The sum of their charges. */
  readonly charges: string;
  /** The settled amount of the balance. */
  readonly settled: string | undefined;
  readonly held: string | undefined;
}

export async function readAccount(fleet: Fleet, caller: FleetCaller): Promise<Account> {
  const { records, balances } = await fleet.readLedger();
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
