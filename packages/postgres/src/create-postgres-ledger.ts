import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type BudgetLedger,
  type CallerLedger,
  checkOptionNames,
  type HistoryLedger,
  type OutboxLedger,
  type OutboxReaders,
  type RefusalLedger,
  type TaskLedger,
} from "@calotype/core/stores";
import { createBudgets } from "./budgets.js";
import { createCallers } from "./callers.js";
import { createOldCounter } from "./count-old.js";
import { createDatabase } from "./database.js";
import { createHistory } from "./history.js";
import { createKeptHolds } from "./kept-holds.js";
import { migrate } from "./migrate.js";
import { createMonthKeeper, type Retention } from "./months.js";
import { createNotifications } from "./notifications.js";
import { createOutbox } from "./outbox.js";
import { createReaders } from "./outbox-readers.js";
import { createOwner, renewRegularly } from "./owner.js";
import { createPeriods } from "./periods.js";
import { guardPool } from "./pool.js";
import { type AnyPostgresPool, toPool } from "./postgres-js.js";
import { createRefusals } from "./refusals.js";
import { createReports } from "./reports.js";
import { channelOf, quoteSchema } from "./schema-name.js";
import { createSweep } from "./sweep.js";
import { createTasks } from "./tasks.js";
import { createStatements, createUnsureHolds, createWrites } from "./writes.js";

/** The options of {@link createPostgresLedger}. */
export interface PostgresLedgerOptions {
  /**
   * A `Pool` of `pg` or of another package with its interface, such as that of `@neondatabase/serverless`; or `sql` of postgres.js.
   * You create and end it. At the same time, the ledger uses up to six of its connections for requests, up
   * to six for tasks, two for reports (one if the pool has fewer than four), one for each other call, and one for
   * notifications.
   */
  readonly pool: AnyPostgresPool;
  /** The schema of the ledger's tables. Nothing else may use it. Default `"calotype"`. */
  readonly schema?: string | undefined;
  /**
   * Whether the first call creates the tables, or changes those of an older version. Default true. Set it to false if
   * the pool's user may not do this, and call {@link migratePostgresLedger} as another user.
   */
  readonly migrate?: boolean | undefined;
  /**
   * A process that has not renewed its lease for this time, in seconds, is considered dead, and its open holds are
   * lost. More than 0, at most 86,400, default 30. Choose a time longer than any pause of the process that you
   * expect.
   */
  readonly leaseSeconds?: number | undefined;
  /**
   * A call rejects if PostgreSQL takes longer than this time, in seconds. `totals`, `records` and `history` may take five minutes. More than
   * 0, at most 86,400, default 10.
   */
  readonly timeoutSeconds?: number | undefined;
  /** How long records are kept. Default: until they are pruned. */
  readonly retention?: Retention | undefined;
  /** Returns the time in milliseconds since 1970. Default: the clock of the database, which all machines share. */
  readonly now?: (() => number) | undefined;
}

/** A ledger on PostgreSQL, with its tasks, callers and refused requests. */
export interface PostgresLedger
  extends TaskLedger,
    CallerLedger,
    BudgetLedger,
    OutboxLedger,
    OutboxReaders,
    HistoryLedger,
    RefusalLedger {
  /**
   * Resolves when PostgreSQL can be reached and the tables exist. Rejects with the reason otherwise. Every other
   * method does the same first; call this one at startup to notice problems early.
   */
  ready(): Promise<void>;
  /**
   * Waits for the calls made so far; later calls reject. Holds that are still open are lost at once, not only when
   * the lease expires: the next `sweep` of any process ends them. Tasks that this ledger took go back to the queue, or
   * fail if they were sent, with the next `tasks.sweep`. The pool stays open.
   */
  close(): Promise<void>;
}

/**
 * Creates a persistent ledger for any number of processes and machines, in one schema of a PostgreSQL database. It
 * connects when it is first used.
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
  checkOptionNames("createPostgresLedger", options, {
    pool: true,
    schema: true,
    migrate: true,
    leaseSeconds: true,
    timeoutSeconds: true,
    retention: true,
    now: true,
  });
  const { schema: name = "calotype", migrate: mayChange = true } = options;
  const pool = toPool(options.pool);
  const schema = quoteSchema(name);
  const leaseMs = toMilliseconds(options, "leaseSeconds", 30);
  const timeoutMs = toMilliseconds(options, "timeoutSeconds", 10);
  const database = createDatabase(pool, timeoutMs);
  const now = (): number | null => options.now?.() ?? null;
  const owner = createOwner(database, { schema, leaseMs, now });
  const unsureHolds = createUnsureHolds();
  const unsureSettlements = createUnsureHolds();
  const periods = createPeriods(now);
  const months = createMonthKeeper(database, { schema, owner, retention: options.retention });
  const sweep = createSweep(database, { schema, owner, months });
  const reports = createReports(database, schema);

  const oldRecords = createOldCounter(database, schema);
  const open = once(async () => {
    await migrate(database, { schema: name, mayChange });
    await oldRecords.start();
  });
  let opening: Promise<void> | undefined;
  let closing: Promise<void> | undefined;
  const openOnce = async (): Promise<void> => {
    if (closing !== undefined) throw new Error("The ledger is closed.");
    opening = open();
    await opening;
  };
  const readers = createReaders(database, schema);
  // Not in the public `ready`, which may be called before a gateway says what it delivers. Nor in reports: a replica takes no writes.
  const ready = async (): Promise<void> => {
    await openOnce();
    await readers.register();
  };
  const notifications = createNotifications({
    pool,
    database,
    channel: channelOf(name),
    ownerId: owner.id,
    timeoutMs,
  });
  const outbox = createOutbox(database, { schema, owner, notifications, readers, ready });
  const budgets = createBudgets(database, { schema, now, periods, ready });
  const tellAlerts = (): void => notifications.tell([{ kind: "alert" }]);
  const statements = createStatements(database, {
    schema,
    owner,
    unsureHolds,
    unsureSettlements,
    periods,
    tellAlerts,
  });
  const writes = createWrites({ statements, unsureHolds, unsureSettlements, ready, timeoutMs });
  const history = createHistory(database, {
    schema,
    ready: openOnce,
    countOld: async () => await oldRecords.run(),
  });
  const keptHolds = createKeptHolds({ database, schema, owner, ready });
  const tasks = createTasks({ database, schema, owner, periods, notifications, ready, timeoutMs });
  const callers = createCallers(database, { schema, owner, notifications, ready });
  const unguard = guardPool(pool);
  const stopRenewing = renewRegularly(leaseMs, async () => {
    if (opening === undefined) return;
    await owner.renew();
    await readers.renew();
  });
  const shutDown = async (): Promise<void> => {
    stopRenewing();
    oldRecords.stop();
    try {
      const [opened] = await Promise.allSettled([opening]);
      if (opening === undefined || opened.status === "rejected") return;
      // Calls that waited for the tables must enter the queues first.
      await nextTurn();
      await Promise.all([writes.settled(), tasks.settled(), oldRecords.settled()]);
      await owner.leave();
    } finally {
      await notifications.close();
      unguard();
    }
  };

  return {
    ready: openOnce,
    setReader: readers.set,
    tasks: tasks.store,
    outbox,
    callers,
    budgets,
    history,
    refusals: createRefusals(database, { schema, ready }),
    hold: writes.hold,
    settle: writes.settle,
    release: writes.release,
    sweep: async (sweepOptions) => {
      await ready();
      return await sweep(sweepOptions);
    },
    keepUpstream: keptHolds.keepUpstream,
    takeKept: keptHolds.takeKept,
    takeUndelivered: async (limit, lease, onUnreadable) =>
      await outbox.lease("record", { limit, leaseMs: lease, onUnreadable }),
    markDelivered: async (records) => await outbox.done("record", records),
    balance: async (caller) => {
      await openOnce();
      return await reports.balance(caller);
    },
    totals: async (by, filter, reportOptions) => {
      await openOnce();
      return await reports.totals(by, filter, reportOptions);
    },
    records: async function* (filter, reportOptions) {
      await openOnce();
      yield* reports.records(filter, reportOptions);
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

/** Runs the work once. Calls during the run share its promise. After a failure, the next call runs it again. */
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
