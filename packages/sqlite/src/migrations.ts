import type { DatabaseSync } from "node:sqlite";
import { readNumber } from "./read-column.js";

/**
 * The steps from an empty file to the newest format. A file's `user_version` is the number of steps that it has had.
 * Never change the effect of a published step; add new steps at the end.
 *
 * Money is an exact decimal in a string. Times are milliseconds since 1970.
 */
export const MIGRATIONS: readonly string[] = [
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
  `
  -- Each task with its hold, which is not in \`holds\`: no sweep of the ledger may end it.
  CREATE TABLE tasks (
    sequence INTEGER PRIMARY KEY, -- in which order they were submitted
    id TEXT NOT NULL UNIQUE,
    request_id TEXT NOT NULL,
    caller TEXT NOT NULL,
    model TEXT NOT NULL,
    operation TEXT NOT NULL,
    status TEXT NOT NULL,
    owner TEXT, -- who took it; NULL in the queue and after its end
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    ended_at INTEGER,
    keep_ms INTEGER NOT NULL,
    delete_at INTEGER, -- NULL before its end
    repeat_key TEXT,
    fingerprint TEXT,
    webhooks TEXT NOT NULL, -- the names, as JSON
    hold TEXT, -- as JSON; NULL after its end
    images TEXT NOT NULL, -- as JSON
    result TEXT,
    error TEXT
  ) STRICT;

  CREATE INDEX tasks_by_caller ON tasks (caller, sequence);
  CREATE INDEX tasks_in_queue ON tasks (caller, sequence, expires_at) WHERE status = 'queued' AND owner IS NULL;
  CREATE INDEX tasks_not_sent ON tasks (expires_at) WHERE status = 'queued';
  CREATE INDEX tasks_taken ON tasks (owner) WHERE owner IS NOT NULL;
  CREATE INDEX tasks_ended ON tasks (delete_at) WHERE delete_at IS NOT NULL;
  CREATE UNIQUE INDEX tasks_by_repeat_key ON tasks (repeat_key) WHERE repeat_key IS NOT NULL;

  -- Apart from the tasks, because they may be large, and SQLite writes a whole row again if a column changes.
  CREATE TABLE task_inputs (
    task INTEGER PRIMARY KEY, -- its sequence
    input TEXT NOT NULL
  ) STRICT;

  -- A row for each caller with tasks in the queue. The one with the lowest turn is next, and then goes to the end.
  CREATE TABLE task_turns (
    caller TEXT PRIMARY KEY,
    turn INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX task_turns_by_turn ON task_turns (turn);

  CREATE TABLE webhook_messages (
    sequence INTEGER PRIMARY KEY, -- in which order they were written
    id TEXT NOT NULL UNIQUE,
    task INTEGER NOT NULL, -- its sequence
    caller TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    next_at INTEGER NOT NULL, -- or the end of its lease
    last_error TEXT
  ) STRICT;
  CREATE INDEX webhook_messages_by_task ON webhook_messages (task);
  CREATE INDEX webhook_messages_by_endpoint ON webhook_messages (caller, endpoint);
  CREATE INDEX webhook_messages_waiting ON webhook_messages (caller, endpoint, next_at) WHERE state = 'waiting';

  -- A row for each endpoint with waiting messages that is not disabled, with the first next_at of its messages.
  CREATE TABLE webhook_queues (
    caller TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    next_at INTEGER NOT NULL,
    PRIMARY KEY (caller, endpoint)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX webhook_queues_by_time ON webhook_queues (next_at);

  CREATE TABLE disabled_webhooks (
    caller TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    PRIMARY KEY (caller, endpoint)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- What another process needs to continue a task that was sent. It may be long, and is written once or a few times.
  CREATE TABLE task_upstreams (
    task INTEGER PRIMARY KEY, -- its sequence
    upstream TEXT NOT NULL
  ) STRICT;

  CREATE INDEX tasks_to_continue ON tasks (status, sequence) WHERE status = 'in_progress' AND owner IS NULL;
  `,
  `
  -- What another process needs to continue a request that was sent; NULL if it cannot be continued.
  ALTER TABLE holds ADD COLUMN upstream TEXT;

  CREATE INDEX holds_to_continue ON holds (owner) WHERE upstream IS NOT NULL;
  `,
  `
  -- The callers that were created at run time.
  CREATE TABLE callers (
    id TEXT PRIMARY KEY,
    settings TEXT NOT NULL, -- as JSON
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    revoked_at INTEGER -- NULL unless its keys were revoked
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE caller_keys (
    hash TEXT PRIMARY KEY,
    caller TEXT NOT NULL,
    place INTEGER NOT NULL, -- in which order they were created
    hint TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    ends_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX caller_keys_by_caller ON caller_keys (caller, place);

  CREATE TABLE caller_audit (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    made_by TEXT NOT NULL,
    action TEXT NOT NULL,
    caller TEXT NOT NULL,
    details TEXT NOT NULL -- as JSON
  ) STRICT;
  CREATE INDEX caller_audit_by_caller ON caller_audit (caller, sequence);

  -- One row: the number of changes of all callers.
  CREATE TABLE caller_revision (revision INTEGER NOT NULL) STRICT;
  INSERT INTO caller_revision VALUES (0);
  `,
  `
  -- The budget of the last hold, and the highest threshold in percent that has an alert.
  ALTER TABLE balances ADD COLUMN budget TEXT;
  ALTER TABLE balances ADD COLUMN alerted INTEGER NOT NULL DEFAULT 0;

  -- The sums of a caller in one period of its budget. The rows of past periods are kept.
  CREATE TABLE period_balances (
    caller TEXT NOT NULL,
    period TEXT NOT NULL, -- its key
    settled TEXT NOT NULL,
    held TEXT NOT NULL,
    budget TEXT,
    alerted INTEGER NOT NULL,
    PRIMARY KEY (caller, period)
  ) STRICT, WITHOUT ROWID;

  -- The key of the period in which the hold was counted; NULL without one.
  ALTER TABLE records ADD COLUMN period TEXT;

  -- The alerts that were not delivered.
  CREATE TABLE budget_alerts (
    sequence INTEGER PRIMARY KEY, -- in which order they were written
    caller TEXT NOT NULL,
    period TEXT NOT NULL, -- '' for a budget over all time
    threshold INTEGER NOT NULL,
    budget TEXT NOT NULL,
    settled TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    leased_until INTEGER NOT NULL,
    UNIQUE (caller, period, threshold)
  ) STRICT;
  CREATE INDEX budget_alerts_by_time ON budget_alerts (created_at);
  `,
  `
  -- What totals count of a record. NULL in records of older versions until they are counted.
  ALTER TABLE records ADD COLUMN outcome TEXT;
  ALTER TABLE records ADD COLUMN duration_ms INTEGER; -- NULL without a known outcome
  ALTER TABLE records ADD COLUMN tokens INTEGER;
  CREATE INDEX records_not_counted ON records (sequence) WHERE outcome IS NULL;
  CREATE INDEX records_without_success ON records (time, id) WHERE outcome <> 'succeeded';

  -- The totals of each hour in UTC, by the time of arrival. They stay when records are removed.
  CREATE TABLE hourly_totals (
    hour INTEGER NOT NULL, -- its beginning
    caller TEXT NOT NULL,
    model TEXT NOT NULL,
    channel TEXT NOT NULL, -- '' of unresolved and released records
    requests INTEGER NOT NULL,
    refused INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    unresolved INTEGER NOT NULL DEFAULT 0,
    released INTEGER NOT NULL DEFAULT 0,
    images INTEGER NOT NULL,
    charge TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL, -- of successes
    -- How many successes took how long, see DURATION_LIMITS of @calotype/core.
    ${Array.from({ length: 34 }, (_, at) => `duration_${at} INTEGER NOT NULL DEFAULT 0,`).join(" ")}
    PRIMARY KEY (hour, caller, model, channel)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- The newest requests that got an error and have no record.
  CREATE TABLE refusals (
    sequence INTEGER PRIMARY KEY, -- in which order they were stored
    id TEXT NOT NULL UNIQUE,
    caller TEXT NOT NULL, -- '' if it is not known
    refusal TEXT NOT NULL -- all of it, as JSON
  ) STRICT;
  CREATE INDEX refusals_by_caller ON refusals (caller, sequence);
  `,
  `
  -- What each caller has of the room for tasks that have not ended: how many, and the bytes of their inputs. And the sums.
  CREATE TABLE task_shares (
    caller TEXT PRIMARY KEY,
    tasks INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE task_share_sums (
    is_only INTEGER PRIMARY KEY CHECK (is_only = 1),
    tasks INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT;
  INSERT INTO task_share_sums VALUES (1, 0, 0);

  -- The bytes of its input. NULL: the task is not counted, because an older version submitted it.
  ALTER TABLE tasks ADD COLUMN share_bytes INTEGER;

  CREATE TRIGGER task_share_taken AFTER INSERT ON tasks WHEN NEW.share_bytes IS NOT NULL BEGIN
    INSERT INTO task_shares (caller, tasks, bytes) VALUES (NEW.caller, 1, NEW.share_bytes)
      ON CONFLICT (caller) DO UPDATE SET tasks = tasks + 1, bytes = bytes + excluded.bytes;
    UPDATE task_share_sums SET tasks = tasks + 1, bytes = bytes + NEW.share_bytes WHERE is_only = 1;
  END;

  CREATE TRIGGER task_share_returned AFTER UPDATE OF ended_at ON tasks
  WHEN OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND OLD.share_bytes IS NOT NULL BEGIN
    UPDATE task_shares SET tasks = tasks - 1, bytes = bytes - OLD.share_bytes WHERE caller = OLD.caller;
    DELETE FROM task_shares WHERE caller = OLD.caller AND tasks = 0;
    UPDATE task_share_sums SET tasks = tasks - 1, bytes = bytes - OLD.share_bytes WHERE is_only = 1;
  END;
  `,
  `
  -- What is to be delivered: records, alerts about budgets, messages to webhook endpoints.
  CREATE TABLE outbox (
    sequence INTEGER PRIMARY KEY, -- in which order they were written
    kind TEXT NOT NULL, -- 'record', 'alert' or 'message'
    id TEXT NOT NULL,
    due_at INTEGER NOT NULL, -- or the end of its lease
    state TEXT NOT NULL, -- of a record: its own; of others: 'waiting', 'delivered' or 'given_up'
    attempts INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    caller TEXT, -- NULL of records
    endpoint TEXT, -- of messages
    task INTEGER, -- of messages about a task: its sequence
    -- Of alerts, and of messages about them.
    period TEXT, -- '' for a budget over all time
    threshold INTEGER,
    budget TEXT,
    settled TEXT,
    created_at INTEGER,
    UNIQUE (kind, id)
  ) STRICT;
  CREATE INDEX outbox_in_order ON outbox (kind, sequence, due_at);
  CREATE INDEX outbox_by_task ON outbox (task) WHERE task IS NOT NULL;
  CREATE INDEX outbox_by_endpoint ON outbox (caller, endpoint) WHERE kind = 'message';
  CREATE INDEX outbox_waiting ON outbox (caller, endpoint, due_at) WHERE kind = 'message' AND state = 'waiting';
  CREATE INDEX outbox_by_time ON outbox (created_at) WHERE created_at IS NOT NULL;

  INSERT INTO outbox (kind, id, due_at, state)
    SELECT 'record', id, leased_until, state FROM records WHERE leased_until IS NOT NULL ORDER BY sequence;
  INSERT INTO outbox (kind, id, due_at, state, caller, period, threshold, budget, settled, created_at)
    SELECT 'alert', iif(period = '', 'total', period) || ' ' || threshold || ' ' || caller, leased_until, 'waiting', caller,
        period, threshold, budget, settled, created_at
      FROM budget_alerts ORDER BY sequence;
  INSERT INTO outbox (kind, id, due_at, state, attempts, last_error, caller, endpoint, task)
    SELECT 'message', id, next_at, state, attempts, last_error, caller, endpoint, task FROM webhook_messages ORDER BY sequence;

  -- The column leased_until of records is not used any more: to remove it would write the whole table again.
  DROP INDEX records_undelivered;
  DROP TABLE budget_alerts;
  DROP TABLE webhook_messages;

  -- Not for a record that is replaced.
  CREATE TRIGGER record_removed AFTER DELETE ON records BEGIN
    DELETE FROM outbox WHERE kind = 'record' AND id = OLD.id;
  END;
  `,
  `
  -- What a request cost the operator; NULL if that is not known. Totals of records read the costs by this index.
  ALTER TABLE records ADD COLUMN cost TEXT;
  CREATE INDEX records_with_cost ON records (time, id) WHERE cost IS NOT NULL;

  -- How many of the requests have a known cost, and the sums of these.
  ALTER TABLE hourly_totals ADD COLUMN costed INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE hourly_totals ADD COLUMN cost TEXT NOT NULL DEFAULT '0';
  ALTER TABLE hourly_totals ADD COLUMN costed_charge TEXT NOT NULL DEFAULT '0';
  `,
];

/** "CALO": marks our files, so that we never write into another program's database. */
const APPLICATION_ID = 0x43_41_4c_4f;

/** The statements that mark a file as ours, with the number of steps that it has had. */
export const writeFormat = (version: number): string =>
  `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version};`;

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

/** Throws if the file lacks tables of this version. Changes nothing. */
export function assertNewestFormat(database: DatabaseSync): void {
  const version = readPragma(database, "user_version");
  if (version === MIGRATIONS.length) return;
  throw new Error(
    version === 0
      ? "it has no tables of a ledger; the gateway creates them when it starts"
      : "it lacks tables of this version of @calotype/sqlite; the gateway adds them when it starts",
  );
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
    database.exec(writeFormat(steps.length));
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function readPragma(database: DatabaseSync, name: "user_version" | "application_id"): number {
  return readNumber(database.prepare(`PRAGMA ${name}`).get(), name);
}
