import type { DatabaseSync } from "node:sqlite";
import { MIGRATIONS } from "./migrations.js";
import { readNumber } from "./read-column.js";

/** "CALO": marks the files of ours, so that no other program's tables are mixed with them. */
const APPLICATION_ID = 0x43_41_4c_4f;

/** Throws where the file is another program's, or of a newer version of this package. Changes nothing. */
export function assertOurFile(database: DatabaseSync): void {
  // In one transaction: another process may make the tables between two looks, and their file is not ours by half.
  database.exec("BEGIN");
  try {
    assertOurFormat(database, MIGRATIONS.length);
  } finally {
    if (database.isTransaction) database.exec("ROLLBACK");
  }
}

function assertOurFormat(database: DatabaseSync, known: number): void {
  const version = readPragma(database, "user_version");
  const application = readPragma(database, "application_id");
  const isEmpty = database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
  if (application !== APPLICATION_ID && !(application === 0 && isEmpty)) {
    throw new Error("it is the database of another program; give the ledger a file of its own");
  }
  if (version > known) {
    throw new Error(
      `it was written by a newer version of @calotype/sqlite (its format is ${version}, this one knows ${known}); update the package`,
    );
  }
}

/** Brings the file to the newest format, in one transaction: of several openers, one does it. */
export function migrate(database: DatabaseSync, steps: readonly string[] = MIGRATIONS): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    // Again, now that nobody else can write: another process may have been faster.
    assertOurFormat(database, steps.length);
    const version = readPragma(database, "user_version");
    for (const step of steps.slice(version)) database.exec(step);
    // Written even where nothing changes, so that a file that cannot be written is known at the start.
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${steps.length}`);
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function readPragma(database: DatabaseSync, name: "user_version" | "application_id"): number {
  return readNumber(database.prepare(`PRAGMA ${name}`).get(), name);
}
