import type { DatabaseSync } from "node:sqlite";
import { readNumber } from "./read-column.js";

/**
 * The steps from an empty file to the newest format. A file's `user_version` is the number of steps that it has had.
 * Never change the effect of a published step; add new steps at the end.
 *
 * Money is an exact decimal in a string. Times are milliseconds since 1970.
 */
const MIGRATIONS: readonly string[] = [
  `
  -- A row for each ledger object that may have holds. An owner without a row is dead.
  CREATE TABLE owners (
    id TEXT PRIMARY KEY,
    alive_until INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- The sums of holds and records, so that a new hold need not add them up.
  CREATE TABLE balances (
    caller TEXT PRIMARY KEY,
    settled TEXT NOT NULL,
    held TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Only open holds. They are few, so they need no index, which would make every request slower.
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

  -- This index contains everything that totals need, so they do not read the JSON.
  CREATE INDEX records_by_time ON records (time, id, caller, model, channel, images, charge, state);
  CREATE INDEX records_by_caller ON records (caller, time, id);
  CREATE INDEX records_by_model ON records (model, time, id);
  CREATE INDEX records_by_channel ON records (channel, time, id);
  CREATE INDEX records_undelivered ON records (sequence, leased_until) WHERE leased_until IS NOT NULL;
  `,
];

/** "CALO": marks our files, so that we never write into another program's database. */
const APPLICATION_ID = 0x43_41_4c_4f;

/** Throws if the file belongs to another program or to a newer version of this package. Changes nothing. */
export function assertOurFile(database: DatabaseSync): void {
  // In one transaction, because another process may create the tables between two reads.
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

/**
 * Updates the file to the newest format in one transaction. If several processes open it at the same time, one of
 * them does it.
 */
export function migrate(database: DatabaseSync, steps: readonly string[] = MIGRATIONS): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    // Read it again under the write lock: another process may have been faster.
    assertOurFormat(database, steps.length);
    const version = readPragma(database, "user_version");
    for (const step of steps.slice(version)) database.exec(step);
    // Written even if nothing changes, so that a read-only file fails at startup.
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
