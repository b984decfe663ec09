import {
  type BudgetLedger,
  type CallerLedger,
  checkOptionNames,
  type HistoryLedger,
  type OutboxLedger,
  type RefusalLedger,
  reportFailures,
  type TaskLedger,
} from "@calotype/core/stores";
import { createBalances } from "./balances.js";
import { createCallers } from "./callers.js";
import { createHistory } from "./history.js";
import { createHolds, createRecords, createSettlement } from "./holds-and-records.js";
import { createHourlyTotals } from "./hourly-totals.js";
import { openDatabase } from "./open-database.js";
import { createOutbox } from "./outbox.js";
import { createOwner, renewRegularly } from "./owner.js";
import { createRefusals } from "./refusals.js";
import { createReports } from "./reports.js";
import { createSlices } from "./slices.js";
import { createTasks } from "./tasks.js";
import { createTurns } from "./turns.js";
import { createWriteQueue, retryWhileBusy } from "./write-queue.js";

/** The options of {@link createSqliteLedger}. */
export interface SqliteLedgerOptions {
  /**
   * The path of the file. It is created if it does not exist; its folder must exist. `":memory:"` stores everything
   * in the memory of this process.
   */
  readonly path: string;
  /**
   * Whether the file is created, or changed if it is of an older version. Default true. With false, a file without the tables of
   * this version is an error: for a program that only reads what a gateway has written.
   */
  readonly migrate?: boolean | undefined;
  /**
   * Returns the time in milliseconds since 1970. Default `Date.now`, because processes that share a file share the
   * clock of their machine. Adjust that clock gradually, as NTP does. If it jumps ahead by more than a lease, holds
   * of requests in progress count as lost; their records are corrected when the requests end.
   */
  readonly now?: (() => number) | undefined;
  /**
   * A process that has not renewed its lease for this time, in seconds, is considered dead, and its open holds are
   * lost. More than 0, at most 86,400, default 30. Choose a time longer than any pause of the process that you
   * expect.
   */
  readonly leaseSeconds?: number | undefined;
}

/**
 * A ledger in an SQLite file, which also keeps tasks, callers and refused requests. `tasks.watch`, `outbox.watch` and `callers.watch` tell the changes of this
 * ledger object only: look for those of other processes now and then.
 */
export interface SqliteLedger
  extends TaskLedger,
    CallerLedger,
    BudgetLedger,
    OutboxLedger,
    HistoryLedger,
    RefusalLedger {
  /**
   * Finishes the calls made so far and closes the file; later calls reject. Holds that are still open are lost at
   * once, not only when the lease expires: the next `sweep` of any process ends them. The same applies to tasks that were
   * taken and have not ended.
   */
  close(): Promise<void>;
}

/**
 * Creates a persistent ledger for one machine, in one file that several processes may open at the same time. A write
 * whose promise has resolved survives a crash of the process and a power failure. Throws with the reason if the file
 * cannot be used.
 *
 * @example
 * ```ts
 * import { createSqliteLedger } from "@calotype/sqlite";
 *
 * const ledger = createSqliteLedger({ path: ":memory:" });
 * console.log(await ledger.balance("web-shop")); // { settled: "0", held: "0" }
 * await ledger.close();
 * ```
 */
export function createSqliteLedger(options: SqliteLedgerOptions): SqliteLedger {
  checkOptionNames("createSqliteLedger", options, {
    path: true,
    migrate: true,
    now: true,
    leaseSeconds: true,
  });
  const { path, migrate = true, now = Date.now, leaseSeconds = 30 } = options;
  // The value is often that of an environment variable. SQLite takes an empty path for a file that it deletes at the end.
  if (typeof path !== "string" || path === "") {
    throw new TypeError("createSqliteLedger needs the path of a file; is the environment variable set?");
  }
  if (!(leaseSeconds > 0 && leaseSeconds <= 86_400)) {
    throw new RangeError(`leaseSeconds must be more than 0 and at most 86400, not ${leaseSeconds}`);
  }
  const database = openDatabase(path, migrate);
  const owner = createOwner(database, { now, leaseMs: leaseSeconds * 1000 });
  const queue = createWriteQueue(database);

  let closing: Promise<void> | undefined;
  const assertOpen = (): void => {
    if (closing !== undefined) throw new Error("The ledger is closed.");
  };
  const write = async <T>(operation: () => T): Promise<T> => {
    assertOpen();
    const result = await queue.run(operation);
    tellAdded();
    return result;
  };
  const read = async <T>(query: () => T): Promise<T> =>
    await retryWhileBusy(() => {
      assertOpen();
      return query();
    });
  const { outbox, entries, tellAdded } = createOutbox(database, { now, read, write });
  const { balances, budgets } = createBalances(database, { now, read, outbox: entries });
  const totals = createHourlyTotals(database);
  const records = createRecords(database, { totals, outbox: entries });
  const holds = createHolds(database, { balances, owner, hasRecord: (id) => records.has(id), now });
  const settlement = createSettlement({ balances, holds, records, outbox: entries });
  const slices = createSlices(database, read, createTurns());
  const reports = createReports(slices);
  const { countOld, ...history } = createHistory(totals, { slices, read, write });
  // Not awaited. If it fails, the next report that needs it tries again and gets the error.
  countOld().catch(() => undefined);
  const tasks = createTasks(database, { balances, settlement, outbox: entries, owner, now, read, write });
  const callers = createCallers(database, { now, read, write });
  const stopRenewing = renewRegularly(leaseSeconds, async () => await write(() => owner.renew()));
  const shutDown = async (): Promise<void> => {
    stopRenewing();
    // The queue is in order, so when this is written, everything before it is written too.
    await queue.run(() => owner.leave()).finally(() => database.close());
  };

  return {
    tasks,
    outbox,
    callers,
    budgets,
    history,
    refusals: createRefusals(database, { read, write }),
    hold: async (hold) => await write(() => holds.open(hold)),
    settle: async (record) => await write(() => settlement.settle(record)),
    release: async (id) => await write(() => settlement.release(id)),
    sweep: async ({ onLost, own = false, onFailure }) => {
      const { records: swept, failures } = await write(() => settlement.sweep(onLost, own));
      reportFailures(failures, onFailure);
      return swept;
    },
    keepUpstream: async (id, upstream) => await write(() => holds.keepUpstream(id, upstream)),
    takeKept: async (page) => {
      // A read, so that nothing to take costs no transaction.
      if (!(await read(() => holds.hasKept()))) return [];
      return await write(() => holds.takeKept(page));
    },
    takeUndelivered: async (limit, leaseMs, onUnreadable) =>
      await outbox.lease("record", { limit, leaseMs, onUnreadable }),
    markDelivered: async (delivered) => await outbox.done("record", delivered),
    balance: async (caller) => await read(() => balances.read(caller)),
    totals: async (by, filter, reportOptions) => await reports.totals(by, filter, reportOptions),
    records: (filter, reportOptions) => reports.records(filter, reportOptions),
    close: async () => await (closing ??= shutDown()),
  };
}
