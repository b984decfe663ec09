import type { DatabaseSync } from "node:sqlite";
import { readNumber } from "./read-column.js";

/**
 * The steps that lead from an empty file to the newest one. A file's `user_version` is the number of steps that it
 * has seen: a step that was published is never changed, new ones are put behind it.
 *
 * Money is exact decimal text, instants are milliseconds since 1970.
 */
const MIGRATIONS: readonly string[] = [
  `
  -- A row for each process, or ledger object, that may have holds; one without a row is dead.
  CREATE TABLE owners (
    id TEXT PRIMARY KEY,
    alive_until INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- The sums over holds and records, so that a hold need not add them up.
  CREATE TABLE balances (
    caller TEXT PRIMARY KEY,
    settled TEXT NOT NULL,
    held TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Only the open ones; hence few, and without indexes that every request would pay for.
  CREATE TABLE holds (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    hold TEXT NOT NULL
  ) STRICT;

  CREATE TABLE records (
    sequence INTEGER PRIMARY KEY, -- in which order they were kept
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    time INTEGER NOT NULL,
    caller TEXT NOT NULL,
    model TEXT NOT NULL,
    channel TEXT NOT NULL, -- '' of unresolved records
    images INTEGER NOT NULL,
    charge TEXT,
    record TEXT NOT NULL, -- all of it, as JSON
    leased_until INTEGER -- NULL when delivered; 0 when nobody was given it yet
  ) STRICT;

  -- Holds all that totals need, which thus never read the JSON.
  CREATE INDEX records_by_time ON records (time, id, caller, model, channel, images, charge, state);
  CREATE INDEX records_by_caller ON records (caller, time, id);
  CREATE INDEX records_by_model ON records (model, time, id);
  CREATE INDEX records_by_channel ON records (channel, time, id);
  CREATE INDEX records_undelivered ON records (sequence, leased_until) WHERE leased_until IS NOT NULL;
  `,
];

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
