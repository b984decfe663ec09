import { setImmediate as nextTurn } from "node:timers/promises";
import type { Ledger } from "@calotype/core/stores";
import { createDatabase } from "./database.js";
import { migrate } from "./migrate.js";
import { createOutbox } from "./outbox.js";
import { createOwner, renewRegularly } from "./owner.js";
import { guardPool, type PostgresPool } from "./pool.js";
import { createReports } from "./reports.js";
import { quoteSchema } from "./schema-name.js";
import { createSweep } from "./sweep.js";
import { createStatements, createUnsureHolds, createWrites } from "./writes.js";

/** What {@link createPostgresLedger} takes. */
export interface PostgresLedgerOptions {
  /** A `Pool` of `pg`, yours to make and to end. The ledger uses up to four of its connections at once. */
  readonly pool: PostgresPool;
  /** The schema with the tables of the ledger, of its own. Default `"calotype"`. */
  readonly schema?: string | undefined;
  /**
   * Whether the first use makes or changes the tables where they are not of this version. Default true; false where
   * the pool's user may not, see {@link migratePostgresLedger}.
   */
  readonly migrate?: boolean | undefined;
  /**
   * A process that gave no sign of life for so many seconds is dead, and its open holds are lost.
   * Default 30; longer than any pause of the process that you expect.
   */
  readonly leaseSeconds?: number | undefined;
  /** So long the ledger waits for PostgreSQL before a call rejects; `totals` for five minutes. Default 10 seconds. */
  readonly timeoutSeconds?: number | undefined;
  /** The clock, milliseconds since 1970. Default the clock of the database, which is one for all machines. */
  readonly now?: (() => number) | undefined;
}

/** A ledger on PostgreSQL. */
export interface PostgresLedger extends Ledger {
  /**
   * Resolves when PostgreSQL can be reached and the tables are there; rejects with what is wrong. The first use does
   * the same: call it at start to learn it earlier.
   */
  ready(): Promise<void>;
  /**
   * Waits for what was asked for until now; later calls reject. The holds that are still open are lost at once and
   * not only when the lease has run out: the next `sweep` of any process ends them. The pool stays open.
   */
  close(): Promise<void>;
}

/**
 * The durable ledger of any number of processes and machines, in one schema of a PostgreSQL database. Connects when
 * it is first used. Throws where an option is wrong.
 *
 * @example
 * ```ts
 * import { createPostgresLedger } from "@calotype/postgres";
 * import { Pool } from "pg";
 *
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL });
 * const ledger = createPostgresLedger({ pool });
 * await ledger.ready();
 * ```
 */
export function createPostgresLedger(options: PostgresLedgerOptions): PostgresLedger {
  const { pool, schema: name = "calotype", migrate: mayChange = true } = options;
  const schema = quoteSchema(name);
  const leaseMs = toMilliseconds(options, "leaseSeconds", 30);
  const timeoutMs = toMilliseconds(options, "timeoutSeconds", 10);
  const database = createDatabase(pool, timeoutMs);
  const now = (): number | null => options.now?.() ?? null;
  const owner = createOwner(database, { schema, leaseMs, now });
  const unsureHolds = createUnsureHolds();
  const statements = createStatements(database, { schema, owner, unsureHolds });
  const sweep = createSweep(database, { schema, owner });
  const outbox = createOutbox(database, { schema, now });
  const reports = createReports(database, schema);

  const open = once(() => migrate(database, { schema: name, mayChange }));
  let opening: Promise<void> | undefined;
  let closing: Promise<void> | undefined;
  const ready = async (): Promise<void> => {
    if (closing !== undefined) throw new Error("The ledger is closed.");
    opening = open();
    await opening;
  };
  const writes = createWrites({ statements, unsureHolds, ready, timeoutMs });
  const unguard = guardPool(pool);
  const stopRenewing = renewRegularly(leaseMs, async () => {
    if (opening !== undefined) await owner.renew();
  });
  const shutDown = async (): Promise<void> => {
    stopRenewing();
    try {
      const [opened] = await Promise.allSettled([opening]);
      if (opening === undefined || opened.status === "rejected") return;
      // What waited for the tables goes into the queues first.
      await nextTurn();
      await writes.settled();
      await owner.leave();
    } finally {
      unguard();
    }
  };

  return {
    ready,
    hold: writes.hold,
    settle: writes.settle,
    release: writes.release,
    sweep: async (sweepOptions) => {
      await ready();
      return await sweep(sweepOptions);
    },
    takeUndelivered: async (limit, lease, onUnreadable) => {
      await ready();
      return await outbox.takeUndelivered(limit, lease, onUnreadable);
    },
    markDelivered: async (records) => {
      await ready();
      await outbox.markDelivered(records);
    },
    balance: async (caller) => {
      await ready();
      return await reports.balance(caller);
    },
    totals: async (by, filter) => {
      await ready();
      return await reports.totals(by, filter);
    },
    records: async function* (filter) {
      await ready();
      yield* reports.records(filter);
    },
    close: async () => await (closing ??= shutDown()),
  };
}

function toMilliseconds(
  options: PostgresLedgerOptions,
  name: "leaseSeconds" | "timeoutSeconds",
  standard: number,
): number {
  const seconds = options[name] ?? standard;
  if (!(seconds > 0 && seconds <= 86_400)) {
    throw new RangeError(`${name} must be more than 0 and at most 86400, not ${seconds}`);
  }
  return seconds * 1000;
}

/** Does something once, also for those who ask meanwhile; where it fails the next one to ask tries again. */
function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  const attempt = async (): Promise<void> => {
    try {
      await work();
    } catch (error) {
      running = undefined;
      throw error;
    }
  };
  return async () => await (running ??= attempt());
}
