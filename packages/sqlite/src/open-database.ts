import { closeSync, existsSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { assertNewestFormat, assertOurFile, migrate } from "./migrations.js";
import { readText } from "./read-column.js";
import { isSqliteError } from "./sqlite-error.js";

/** How long startup waits for other processes that open or close the same file. */
const PATIENCE_MS = 5000;

/**
 * Opens the database of a file in the newest format. Throws with the reason if the file cannot be used.
 *
 * @param mayChange false: a file that does not exist, or has an older format, is an error
 */
export function openDatabase(path: string, mayChange = true): DatabaseSync {
  if (path === "") throw new Error('path must name the file of the ledger, or be ":memory:"');
  let database: DatabaseSync | undefined;
  try {
    if (!mayChange && !existsSync(path)) throw new Error("it does not exist");
    if (mayChange) createPrivateFile(path);
    database = new DatabaseSync(path, { timeout: PATIENCE_MS });
    prepareFile(database, mayChange);
    return database;
  } catch (error) {
    database?.close();
    throw new Error(`The ledger's file ${path} cannot be used: ${explain(error)}.`, { cause: error });
  }
}

/** SQLite would make a file that every user of the machine can read. Its log gets the permissions of the file. */
function createPrivateFile(path: string): void {
  if (path === ":memory:" || path.startsWith("file:")) return;
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch {
    // The file exists and keeps its permissions, or it cannot be created: SQLite says why.
  }
}

function prepareFile(database: DatabaseSync, mayChange: boolean): void {
  assertOurFile(database);
  if (!mayChange) assertNewestFormat(database);
  useWriteAheadLog(database);
  // FULL: each commit waits for the disk. On macOS, only `fullfsync` waits for the disk itself and not for its cache.
  database.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON");
  // Prompts of ended tasks are overwritten, and not only marked as free space.
  database.exec("PRAGMA secure_delete = ON");
  if (mayChange) migrate(database);
  // From now on `retryWhileBusy` waits for locks, not SQLite.
  database.exec("PRAGMA busy_timeout = 0");
}

/** With a write-ahead log, readers and a writer do not wait for each other. The file keeps the mode. */
function useWriteAheadLog(database: DatabaseSync): void {
  const mode = retrySync(() => readText(database.prepare("PRAGMA journal_mode = WAL").get(), "journal_mode"));
  if (mode !== "wal" && mode !== "memory") {
    throw new Error("its file system does not let processes share memory; use a local disk");
  }
}

/** SQLite itself does not wait if two processes switch the mode of a new file at the same time. */
function retrySync<T>(attempt: () => T): T {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isSqliteError(error, "busy") || performance.now() > deadline) throw error;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  }
}

function explain(error: unknown): string {
  if (isSqliteError(error, "cantopen")) {
    return "its folder must exist and be writable, and the path must not be a folder";
  }
  if (isSqliteError(error, "notadb")) return "it is not an SQLite database";
  if (isSqliteError(error, "corrupt")) return "it is damaged";
  if (isSqliteError(error, "readonly")) return "it is read-only";
  if (isSqliteError(error, "busy")) return "another process keeps it locked";
  return error instanceof Error ? error.message : String(error);
}
