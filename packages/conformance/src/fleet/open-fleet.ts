import { randomUUID } from "node:crypto";
import type { UsageRecord } from "@calotype/core/billing";
import { createEmulator, type Emulator } from "@calotype/emulator";
import { createPostgresLedger, type PostgresLedger } from "@calotype/postgres";
import { Redis } from "ioredis";
import { Pool } from "pg";
import type { Sighting } from "../crashes/call-server.ts";
import type { Evidence } from "../crashes/find-problems.ts";
import type { LedgerContent } from "../crashes/read-ledger-file.ts";
import { readRecords } from "../ledger-suite/read-ledger.ts";
import { createPrefix, removeKeys } from "../support/redis-keys.ts";
import { type NextServer, type ServerProcess, spawnServer } from "../support/spawn-server.ts";
import { type GatedProvider, startGatedProvider } from "./gated-provider.ts";
import { FLEET_CALLERS, type GatewayPlan } from "./gateway-plan.ts";

/** Gateways in separate processes that share a Redis, a PostgreSQL and the providers. */
export interface Fleet extends Evidence {
  /** The gateways. Requests go to them in turn. A gateway can be replaced by another one. */
  readonly servers: ServerProcess[];
  readonly emulator: Emulator;
  readonly gated: GatedProvider;
  /** The ledger of another process on the same schema. */
  readonly ledger: PostgresLedger;
  readonly sightings: Sighting[];
  /** Returns the address of the next gateway in turn. */
  readonly nextUrl: () => string;
  /** Starts a process that becomes one more gateway when it gets {@link Fleet.plan}. */
  readonly prepare: () => NextServer<GatewayPlan>;
  readonly plan: GatewayPlan;
  readonly readLedger: () => Promise<LedgerContent>;
  /** Ends all processes and removes their data. */
  readonly close: () => Promise<void>;
}

const PROGRAM = new URL("gateway-process.ts", import.meta.url);

/** The servers that the gateways share. */
export type Place = Pick<GatewayPlan, "redisUrl" | "redisCluster" | "postgresUrl">;
type FleetChanges = Partial<
  Pick<GatewayPlan, "whenAway" | "leaseSeconds" | "admissionLeaseSeconds" | "onLost" | "tasks">
>;

/** @param flags command-line flags of Node for the gateways */
export async function openFleet(
  count: number,
  place: Place,
  changes: FleetChanges = {},
  flags: readonly string[] = [],
): Promise<Fleet> {
  const emulator = createEmulator({ images: "tiny", millisecondsPerImage: 5, seed: 1 });
  const [provider, gated] = await Promise.all([emulator.listen(), startGatedProvider()]);
  const plan: GatewayPlan = {
    ...place,
    prefix: createPrefix(),
    schema: `calotype_test_${randomUUID()}`,
    whenAway: "closed",
    leaseSeconds: 30,
    admissionLeaseSeconds: 120,
    onLost: "release",
    arkBaseUrl: provider.arkBaseUrl,
    gatedBaseUrl: gated.baseUrl,
    ...changes,
  };
  const started: NextServer<GatewayPlan>[] = [];
  const prepare = (): NextServer<GatewayPlan> => {
    const next = spawnServer<GatewayPlan>(PROGRAM, flags);
    started.push(next);
    return next;
  };
  const pool = new Pool({ connectionString: plan.postgresUrl });
  const ledger = createPostgresLedger({ pool, schema: plan.schema });
  const close = async (): Promise<void> => {
    await Promise.all([...started.map((one) => one.kill()), gated.close(), provider.close()]);
    await ledger.close();
    await pool.query(`DROP SCHEMA IF EXISTS "${plan.schema}" CASCADE`);
    await pool.end();
    // A cluster ends with the test.
    if (plan.redisCluster !== undefined) return;
    const cleaner = new Redis(plan.redisUrl);
    await removeKeys(cleaner, plan.prefix);
    cleaner.disconnect();
  };
  try {
    const servers = await Promise.all(Array.from({ length: count }, () => prepare().start(plan)));
    let turn = 0;
    return {
      servers,
      emulator,
      gated,
      ledger,
      plan,
      prepare,
      close,
      sightings: [],
      onLost: plan.onLost,
      nextUrl: () => servers[turn++ % servers.length]?.url ?? "",
      readLedger: () => readLedger(ledger),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function readLedger(ledger: PostgresLedger): Promise<LedgerContent> {
  const records: readonly UsageRecord[] = await readRecords(ledger);
  const callers = Object.keys(FLEET_CALLERS);
  const balances = await Promise.all(callers.map(async (id) => [id, await ledger.balance(id)] as const));
  return { records, balances: Object.fromEntries(balances) };
}
