import type { GatewayOptions } from "@calotype/core";
import { createPostgresLedger } from "@calotype/postgres";
import { createRedisAdmissionStore } from "@calotype/redis";
import { Redis } from "ioredis";
import { Pool } from "pg";
import { requireVariables } from "./variables.ts";

requireVariables(["DATABASE_URL", "REDIS_URL"], "The README says how to start both.");

export const pool = new Pool({
  connectionString: process.env.DATABASE_URL,
  connectionTimeoutMillis: 5000,
  keepAlive: true,
});
const ledger = createPostgresLedger({ pool });
await ledger.ready(); // fails at startup, and not with the first request, if the database cannot be reached

const client = new Redis(process.env.REDIS_URL ?? "");
client.on("error", (error) => console.error(`Redis: ${error.message}`));

/**
 * Charges, budgets and records are in PostgreSQL; limits, idempotency keys and cooldowns in Redis. Any number of machines
 * share them.
 */
export const stores: Pick<GatewayOptions, "ledger" | "admission"> = {
  ledger,
  admission: createRedisAdmissionStore({ client }),
};

/** Runs when the gateway is closed. */
export async function closeStores(): Promise<void> {
  await ledger.close();
  await pool.end();
  await client.quit();
}
