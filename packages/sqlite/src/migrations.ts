/**
 * The steps that lead from an empty file to the newest one. A file's `user_version` is the number of steps that it
 * has seen: a step that was published is never changed, new ones are put behind it.
 *
 * Money is exact decimal text, instants are milliseconds since 1970.
 */
export const MIGRATIONS: readonly string[] = [
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
