import type { GatewayOptions } from "@calotype/core";
import { createPostgresLedger } from "@calotype/postgres";
import { Pool } from "pg";
import { requireVariables } from "./variables.ts";

requireVariables(["DATABASE_URL"], "The README says how to start a database.");

export const pool = new Pool({
  connectionString: process.env.DATABASE_URL,
  connectionTimeoutMillis: 5000,
  keepAlive: true,
});
const ledger = createPostgresLedger({ pool });
await ledger.ready(); // fails at startup, and not with the first request, if the database cannot be reached

/** Charges, budgets and records are in PostgreSQL, for any number of machines. Limits are in each process. */
export const stores: Pick<GatewayOptions, "ledger" | "admission"> = { ledger };

/** Runs when the gateway is closed. */
export async function closeStores(): Promise<void> {
  await ledger.close();
  await pool.end();
}
