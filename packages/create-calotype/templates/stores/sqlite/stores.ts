import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { GatewayOptions } from "@calotype/core";
import { createSqliteLedger } from "@calotype/sqlite";

const path = process.env.CALOTYPE_LEDGER || "data/calotype.db";
mkdirSync(dirname(path), { recursive: true });
const ledger = createSqliteLedger({ path });

/** Charges, budgets and records are in a file, for one machine. Limits are in memory. */
export const stores: Pick<GatewayOptions, "ledger" | "admission"> = { ledger };

/** Runs when the gateway is closed. */
export async function closeStores(): Promise<void> {
  await ledger.close();
}
