import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryLedger } from "@calotype/core/billing";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { Pool } from "pg";
import { POSTGRES, urlOf } from "../support/service.ts";
import type { ClientLedger } from "./run-client.ts";

/** Where a ledger on a disk is. Programs get it as JSON. */
export type StoreAddress =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string; readonly schema: string };

/** The lease of the processes, so short that holds of dead processes are lost within a round. */
export const LEASE_SECONDS = 1;
/** The calls of clients reject while a connection is silent for longer. The other calls are patient, also on a busy machine. */
const TIMEOUT_SECONDS = 2;
const PATIENT_SECONDS = 60;
const DAY_MS = 86_400_000;

/** A ledger of a process. */
export interface LedgerOfProcess {
  readonly ledger: ClientLedger;
  readonly close: () => Promise<void>;
}

/** An empty store for a round. */
export interface Store {
  /** Absent if other processes cannot use it. */
  readonly place?: StoreAddress;
  /** Opens a ledger in this process, which makes the tables. */
  readonly openFirst: () => LedgerOfProcess;
  /** Waits until the server has ended what killed processes sent to it. Then opens a ledger whose clock is a day ahead. */
  readonly openLast: () => Promise<LedgerOfProcess>;
  readonly remove: () => Promise<void>;
}

/** Opens the ledger of a client. */
export const openLedger = (place: StoreAddress): LedgerOfProcess =>
  open(place, { timeoutSeconds: TIMEOUT_SECONDS });

/** @param now the clock of the ledger. Absent: that of its store */
function open(
  place: StoreAddress,
  {
    timeoutSeconds = PATIENT_SECONDS,
    now,
  }: { readonly timeoutSeconds?: number; readonly now?: () => number } = {},
): LedgerOfProcess {
  if (place.kind === "sqlite") {
    const ledger = createSqliteLedger({ path: place.path, leaseSeconds: LEASE_SECONDS, now });
    return { ledger, close: () => ledger.close() };
  }
  const { url, schema } = place;
  // The server is not stopped, so nobody needs to wait for its disk.
  const options = "-c synchronous_commit=off";
  const pool = new Pool({ connectionString: url, application_name: schema, options });
  const ledger = createPostgresLedger({ pool, schema, leaseSeconds: LEASE_SECONDS, timeoutSeconds, now });
  return {
    ledger,
    close: async () => {
      await ledger.close();
      await pool.end();
    },
  };
}

const readTomorrow = (): number => Date.now() + DAY_MS;

/** Creates an empty store. */
export function createStore(kind: "memory" | StoreAddress["kind"]): Store {
  if (kind === "memory") return createMemoryStore();
  return kind === "sqlite" ? createSqliteStore() : createPostgresStore(urlOf(POSTGRES));
}

function createMemoryStore(): Store {
  let aheadMs = 0;
  const ledger = createMemoryLedger({ now: () => Date.now() + aheadMs });
  const openFirst = (): LedgerOfProcess => ({ ledger, close: async () => undefined });
  return {
    openFirst,
    openLast: async () => {
      aheadMs = DAY_MS;
      return openFirst();
    },
    remove: async () => undefined,
  };
}

function createSqliteStore(): Store {
  // Linux keeps these files in memory. The machine is not stopped.
  const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "calotype-histories-"));
  const place: StoreAddress = { kind: "sqlite", path: join(folder, "ledger.db") };
  return {
    place,
    openFirst: () => open(place),
    openLast: async () => open(place, { now: readTomorrow }),
    remove: async () => rmSync(folder, { recursive: true }),
  };
}

function createPostgresStore(url: string): Store {
  const schema = `calotype_test_${randomUUID()}`;
  const place: StoreAddress = { kind: "postgres", url, schema };
  const withPool = async (work: (pool: Pool) => Promise<void>): Promise<void> => {
    const pool = new Pool({ connectionString: url });
    try {
      await work(pool);
    } finally {
      await pool.end();
    }
  };
  return {
    place,
    openFirst: () => open(place),
    openLast: async () => {
      await withPool(async (pool) => {
        const count = "SELECT FROM pg_stat_activity WHERE application_name = $1";
        while ((await pool.query(count, [schema])).rowCount !== 0) await sleep(20);
      });
      return open(place, { now: readTomorrow });
    },
    remove: () =>
      withPool(async (pool) => void (await pool.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`))),
  };
}
