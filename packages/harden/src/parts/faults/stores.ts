import { randomUUID } from "node:crypto";
import { startTcpRelay } from "@calotype/conformance/support/tcp-relay";
import type { AdmissionStore, Ledger } from "@calotype/core/stores";
import { createPostgresLedger } from "@calotype/postgres";
import { createRedisAdmissionStore } from "@calotype/redis";
import { Redis } from "ioredis";
import { Pool } from "pg";
import { type Fault, isPostgresFault, isRedisFault } from "./cells.ts";

/** The stores of a cell, behind a relay, and their faults. */
export interface CellStores {
  readonly options: { readonly ledger?: Ledger; readonly admission?: AdmissionStore };
  /** Called before the request. */
  readonly before: () => Promise<void>;
  /** Called while the provider works. */
  readonly during: () => Promise<void>;
  /** Called after the request. Ends the fault. */
  readonly after: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Some repeats of a write fail in this time, and the last ones succeed. */
const OUTAGE_MS = 500;
/** The deadline of the store if Redis is unreachable. */
const AWAY_DEADLINE_MS = 400;
/** The deadline in all other cells, also on a busy machine. */
const PATIENT_MS = 20_000;
const SILENT = { warn: () => undefined, error: () => undefined };

/** The addresses of the servers that are available. */
export interface Services {
  readonly redisUrl: string | undefined;
  readonly postgresUrl: string | undefined;
}

/** Opens the stores that a fault needs. `undefined`: their server is missing. */
export async function openStores(fault: Fault, services: Services): Promise<CellStores | undefined> {
  const { redisUrl, postgresUrl } = services;
  if (isRedisFault(fault)) return redisUrl === undefined ? undefined : openRedis(fault, redisUrl);
  if (isPostgresFault(fault)) return postgresUrl === undefined ? undefined : openPostgres(fault, postgresUrl);
  return { options: {}, before: nothing, during: nothing, after: nothing, close: nothing };
}

const nothing = async (): Promise<void> => undefined;

async function openRedis(fault: Fault, url: string): Promise<CellStores> {
  const { hostname, port } = new URL(url);
  const relay = await startTcpRelay({ host: hostname, port: Number(port || 6379) });
  const client = new Redis({ host: "127.0.0.1", port: relay.port, retryStrategy: () => 50 });
  client.on("error", () => undefined); // the store reports it
  const prefix = `calotype-harden:${randomUUID()}:`;
  const admission = createRedisAdmissionStore({
    client,
    prefix,
    deadlineSeconds: (expectsAbsence(fault) ? AWAY_DEADLINE_MS : PATIENT_MS) / 1_000,
    leaseSeconds: 5,
    logger: SILENT,
  });
  await client.ping();
  const states = { "Redis is down": "down", "Redis is slow": "slow", "Redis is silent": "silent" } as const;
  const before = Object.entries(states).find(([name]) => name === fault)?.[1];
  return {
    options: { admission },
    async before() {
      if (before !== undefined) await relay.set(before);
    },
    async during() {
      if (fault !== "Redis goes away in the request") return;
      await relay.set("down");
      setTimeout(() => void relay.set("up"), OUTAGE_MS);
    },
    async after() {
      await relay.set("up");
      await client.ping();
    },
    async close() {
      const keys = await client.keys(`${prefix}*`);
      if (keys.length > 0) await client.unlink(...keys);
      client.disconnect();
      await relay.close();
    },
  };
}

function expectsAbsence(fault: Fault): boolean {
  return fault === "Redis is down" || fault === "Redis is silent";
}

async function openPostgres(fault: Fault, url: string): Promise<CellStores> {
  const { hostname, port } = new URL(url);
  const relay = await startTcpRelay({ host: hostname, port: Number(port || 5432) });
  const schema = `calotype_harden_${randomUUID()}`;
  const behindRelay = new URL(url);
  behindRelay.host = `127.0.0.1:${relay.port}`;
  const pool = new Pool({
    connectionString: behindRelay.href,
    application_name: schema,
    connectionTimeoutMillis: PATIENT_MS,
  });
  pool.on("error", () => undefined); // an idle session that ends
  const ledger = createPostgresLedger({ pool, schema, timeoutSeconds: PATIENT_MS / 1_000 });
  await ledger.ready();
  const direct = new Pool({ connectionString: url, max: 1 });
  return {
    options: { ledger },
    async before() {
      if (fault === "PostgreSQL is down") await relay.set("down");
      if (fault === "PostgreSQL is slow") await relay.set("slow");
    },
    async during() {
      if (fault === "PostgreSQL goes away in the request") {
        await relay.set("down");
        setTimeout(() => void relay.set("up"), OUTAGE_MS);
      }
      if (fault === "PostgreSQL ends the session in the request") {
        await direct.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
          [
            // PostgreSQL cuts names to 63 bytes.
            schema.slice(0, 63),
          ],
        );
      }
    },
    after: () => relay.set("up"),
    async close() {
      await ledger.close();
      await pool.end();
      await relay.close();
      await direct.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
      await direct.end();
    },
  };
}
