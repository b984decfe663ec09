import { DatabaseSync } from "node:sqlite";
import { assertOurFile, migrate } from "./migrations.js";
import { readText } from "./read-column.js";
import { isSqliteError } from "./sqlite-error.js";

/** How long the start waits for other processes that start, or end, with the same file. */
const PATIENCE_MS = 5000;

/** The database in a file, in the newest format and ready to be written; throws an error that says why not. */
export function openDatabase(path: string): DatabaseSync {
  if (path === "") throw new Error('path must name the file of the ledger, or be ":memory:"');
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: PATIENCE_MS });
    prepareFile(database);
    return database;
  } catch (error) {
    database?.close();
    throw new Error(`The ledger's file ${path} cannot be used: ${explain(error)}.`, { cause: error });
  }
}

function prepareFile(database: DatabaseSync): void {
  assertOurFile(database);
  useWriteAheadLog(database);
  // FULL: each commit waits for the disk. On macOS only `fullfsync` means the disk and not its cache.
  database.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON");
  migrate(database);
  // From here on waiting is not SQLite's, see `retryWhileBusy`.
  database.exec("PRAGMA busy_timeout = 0");
}

/** Readers and a writer then do not wait for one another. The mode stays with the file. */
function useWriteAheadLog(database: DatabaseSync): void {
  const mode = retrySync(() => readText(database.prepare("PRAGMA journal_mode = WAL").get(), "journal_mode"));
  if (mode !== "wal" && mode !== "memory") {
    throw new Error("its file system does not let processes share memory; take a local disk");
  }
}

/** SQLite does not wait by itself where two processes switch the mode of a new file at once. */
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
    return "its folder must exist and let files be made, and the path must not be a folder";
  }
  if (isSqliteError(error, "notadb")) return "it is no SQLite database";
  if (isSqliteError(error, "corrupt")) return "it is damaged";
  if (isSqliteError(error, "readonly")) return "it is read-only";
  if (isSqliteError(error, "busy")) return "another process keeps it locked";
  return error instanceof Error ? error.message : String(error);
}
