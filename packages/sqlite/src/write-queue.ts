import type { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { isSqliteError } from "./sqlite-error.js";

/** Bounds how long one transaction stops the process, and keeps the others out. */
const LARGEST_BATCH = 256;

/** Writes, in the order they were asked for. */
export interface WriteQueue {
  /**
   * Runs an operation inside a transaction and resolves with its result once that is on the disk. When it throws,
   * what it changed is undone and the promise rejects; the others of the transaction are not touched.
   */
  run<T>(operation: () => T): Promise<T>;
}

interface Entry {
  /** Does the work; what it gives tells the caller, and is called after the commit. */
  readonly execute: () => () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Puts all that is asked for in one turn of the event loop, which is all that the sockets brought, into one
 * transaction: what costs is the commit, which waits for the disk, and not the operations.
 */
export function createWriteQueue(database: DatabaseSync): WriteQueue {
  const commitTogether = createBatchWriter(database);
  const pending: Entry[] = [];
  let isDraining = false;

  const drain = async (): Promise<void> => {
    while (pending.length > 0) {
      await nextTurn();
      const batch = pending.splice(0, LARGEST_BATCH);
      try {
        const tellAll = await retryWhileBusy(() => commitTogether(batch));
        for (const tell of tellAll) tell();
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

/** One transaction for a batch; throws when nothing of it was written. */
function createBatchWriter(database: DatabaseSync): (batch: readonly Entry[]) => (() => void)[] {
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const executeAlone = createSavepoint(database);
  return (batch) => {
    begin.run();
    try {
      const tellAll = batch.map(executeAlone);
      commit.run();
      return tellAll;
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  };
}

/** Runs an entry so that its failure undoes only what it did itself. */
function createSavepoint(database: DatabaseSync): (entry: Entry) => () => void {
  const mark = database.prepare("SAVEPOINT operation");
  const keep = database.prepare("RELEASE operation");
  const undo = database.prepare("ROLLBACK TO operation");
  return ({ execute, reject }) => {
    mark.run();
    try {
      const tell = execute();
      keep.run();
      return tell;
    } catch (error) {
      // A full disk and the like end the whole transaction: then nobody's work is kept.
      if (!database.isTransaction) throw error;
      undo.run();
      keep.run();
      return () => reject(error);
    }
  };
}

const PATIENCE_MS = 10_000;
const LONGEST_PAUSE_MS = 10;

/**
 * Does what another process may be in the way of, again and again for ten seconds. SQLite's own waiting would
 * stop the whole process meanwhile; this stops the caller only.
 */
export async function retryWhileBusy<T>(attempt: () => T, patienceMs: number = PATIENCE_MS): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isSqliteError(error, "busy")) throw error;
      if (performance.now() > deadline) {
        throw new Error(`Another process keeps the ledger's file locked for more than ${patienceMs} ms.`, {
          cause: error,
        });
      }
    }
    // Of random length, so that processes that wait for one another do not come back together.
    await sleep(1 + Math.random() * LONGEST_PAUSE_MS);
  }
}
