import type { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { isSqliteError } from "./sqlite-error.js";

/**
 * The maximum number of operations in one transaction. It bounds how long the transaction blocks this process and
 * locks the file for others.
 */
const LARGEST_BATCH = 256;

/** Runs writes in the order in which they were added. */
export interface WriteQueue {
  /**
   * Runs an operation inside a transaction and resolves with its result after the commit. If the operation throws,
   * its changes are undone and the promise rejects; other operations of the transaction are not affected.
   */
  run<T>(operation: () => T): Promise<T>;
}

interface QueuedWrite {
  /** Runs the operation. Returns a function that resolves its promise, to be called after the commit. */
  readonly execute: () => () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Puts the operations that are added in the same turn of the event loop into one transaction, because the commit,
 * which waits for the disk, takes longer than the operations.
 */
export function createWriteQueue(database: DatabaseSync): WriteQueue {
  const commitTogether = createBatchWriter(database);
  const { letOthersWrite, noteWrite } = createPauses();
  const pending: QueuedWrite[] = [];
  let isDraining = false;

  const drain = async (): Promise<void> => {
    while (pending.length > 0) {
      await nextTurn();
      await letOthersWrite();
      const batch = pending.splice(0, LARGEST_BATCH);
      try {
        const notifyAll = await retryWhileBusy(() => commitTogether(batch));
        noteWrite();
        for (const notify of notifyAll) notify();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    isDraining = false;
  };

  return {
    run: async <T>(operation: () => T): Promise<T> => {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const execute = (): (() => void) => {
        const result = operation();
        return () => resolve(result);
      };
      pending.push({ execute, reject });
      if (!isDraining) {
        isDraining = true;
        void drain();
      }
      return await promise;
    },
  };
}

/** How long a process may write without a pause. */
const LONGEST_RUN_MS = 100;

/**
 * SQLite gives its lock to the process that asks next, not to the one that has waited longest. A process with much to write asks again
 * within microseconds. Others ask every few milliseconds, so they could wait for more than ten seconds. So a run of writes is
 * followed by a pause that is longer than the time between two attempts of the others. Operations that are added meanwhile
 * share the next transaction.
 */
function createPauses(): { readonly letOthersWrite: () => Promise<void>; readonly noteWrite: () => void } {
  let runBegan = 0;
  let lastWrite = Number.NEGATIVE_INFINITY;
  return {
    letOthersWrite: async () => {
      const now = performance.now();
      const isNewRun = now - lastWrite > LONGEST_PAUSE_MS + 1;
      if (!isNewRun && now - runBegan < LONGEST_RUN_MS) return;
      if (!isNewRun) await sleep(LONGEST_PAUSE_MS + 2);
      runBegan = performance.now();
    },
    noteWrite: () => {
      lastWrite = performance.now();
    },
  };
}

/** Runs a batch in one transaction. Throws if nothing of it was written. */
function createBatchWriter(database: DatabaseSync): (batch: readonly QueuedWrite[]) => (() => void)[] {
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const executeAlone = createSavepoint(database);
  return (batch) => {
    begin.run();
    try {
      const notifyAll = batch.map(executeAlone);
      commit.run();
      return notifyAll;
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  };
}

/** Runs an entry so that its failure undoes only its own changes. */
function createSavepoint(database: DatabaseSync): (entry: QueuedWrite) => () => void {
  const mark = database.prepare("SAVEPOINT operation");
  const keep = database.prepare("RELEASE operation");
  const undo = database.prepare("ROLLBACK TO operation");
  return ({ execute, reject }) => {
    mark.run();
    try {
      const notify = execute();
      keep.run();
      return notify;
    } catch (error) {
      // Some errors, such as a full disk, end the whole transaction.
      if (!database.isTransaction) throw error;
      undo.run();
      keep.run();
      return () => reject(error);
    }
  };
}

const PATIENCE_MS = 10_000;
/** The longest pause between two attempts, less 1 ms. */
const LONGEST_PAUSE_MS = 10;

/**
 * Retries for ten seconds while another process locks the file. SQLite's own waiting would block the whole process;
 * this delays only the caller.
 */
export async function retryWhileBusy<T>(attempt: () => T, patienceMs: number = PATIENCE_MS): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const leftMs = deadline - performance.now();
    try {
      return attempt();
    } catch (error) {
      if (!isSqliteError(error, "busy")) throw error;
      if (leftMs < 0) {
        throw new Error(`Another process keeps the ledger's file locked for more than ${patienceMs} ms.`, {
          cause: error,
        });
      }
    }
    // Of random length, so that waiting processes do not retry at the same time. Who has waited longer asks more often.
    await sleep(1 + Math.random() * LONGEST_PAUSE_MS * Math.max(0, leftMs / patienceMs));
  }
}
