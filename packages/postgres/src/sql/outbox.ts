/**
 * The function that leases messages.
 *
 * @param message the row type of the messages that it returns
 * @param join how it finds the task of a message
 * @param condition which messages it leases
 */
const writeLease = (
  name: string,
  { message, join, condition }: Readonly<Record<"message" | "join" | "condition", string>>,
): string => `
  CREATE FUNCTION {schema}.${name}(
    p_limit bigint, p_lease_ms float8, p_except_callers text[], p_except_endpoints text[], p_now_ms float8
  ) RETURNS TABLE (message {schema}.${message}, task {schema}.tasks) LANGUAGE plpgsql {settings} AS $$
  DECLARE
    instant timestamptz := {schema}.task_instant(p_now_ms);
    candidates text[];
    chosen text[];
  BEGIN
    candidates := {schema}.find_due_messages(p_limit, ARRAY(
      SELECT {schema}.webhook_address(e.caller, e.endpoint)
        FROM unnest(p_except_callers, p_except_endpoints) AS e (caller, endpoint)
      UNION ALL SELECT {schema}.webhook_address(d.caller, d.endpoint) FROM {schema}.disabled_webhooks d), instant);
    IF cardinality(candidates) = 0 THEN RETURN; END IF;
    chosen := ARRAY(
      SELECT m.id FROM unnest(candidates) WITH ORDINALITY AS c (id, place)
        JOIN {schema}.outbox_entries m ON m.id = c.id
        WHERE m.id = ANY (candidates) AND m.state = 'waiting' AND m.due_at <= instant ${condition}
        ORDER BY c.place LIMIT p_limit FOR UPDATE OF m SKIP LOCKED);
    UPDATE {schema}.outbox_entries m SET due_at = instant + p_lease_ms * interval '1 millisecond'
      WHERE m.id = ANY (chosen);
    RETURN QUERY SELECT m, t FROM unnest(chosen) WITH ORDINALITY AS c (id, place)
      JOIN {schema}.${message} m ON m.id = c.id
      ${join} {schema}.tasks t ON t.id = m.task
        AND t.id = ANY (ARRAY(SELECT a.task FROM {schema}.outbox_entries a WHERE a.id = ANY (chosen)))
      WHERE m.id = ANY (chosen)
      ORDER BY c.place;
  END $$;
  ALTER FUNCTION {schema}.${name} SET plan_cache_mode = force_generic_plan;
`;

/**
 * One outbox for records, alerts and messages. A step of `MIGRATIONS`. The table of records to be delivered becomes the outbox, so that
 * its rows are not written again. The tables that it replaces become views, each of the entries of a kind: the functions of earlier
 * steps and the processes of an older version write and lease through them.
 */
export const OUTBOX = `
  LOCK TABLE {schema}.outbox, {schema}.budget_alerts, {schema}.webhook_messages IN ACCESS EXCLUSIVE MODE;

  -- A message has an endpoint, an alert has a threshold and no endpoint, a record has neither.
  ALTER TABLE {schema}.outbox RENAME TO outbox_entries;
  ALTER TABLE {schema}.outbox_entries RENAME COLUMN id TO record; -- its id
  ALTER TABLE {schema}.outbox_entries RENAME COLUMN leased_until TO due_at; -- or the end of its lease
  ALTER TABLE {schema}.outbox_entries
    ALTER COLUMN record DROP NOT NULL,
    ALTER COLUMN state DROP NOT NULL, -- of a record, or of a message; NULL of alerts
    ADD COLUMN caller text COLLATE "C", -- of alerts and messages
    -- Of messages.
    ADD COLUMN id text COLLATE "C",
    ADD COLUMN task text COLLATE "C", -- '' if it is about an alert
    ADD COLUMN endpoint text COLLATE "C",
    ADD COLUMN attempts bigint NOT NULL DEFAULT 0,
    ADD COLUMN last_error text,
    -- Identifies the attempt that was recorded last, so that an attempt that is sent twice counts once.
    ADD COLUMN last_attempt uuid,
    -- Of alerts, and of messages about them.
    ADD COLUMN period text COLLATE "C", -- '' for a budget over all time
    ADD COLUMN threshold smallint,
    ADD COLUMN budget numeric,
    ADD COLUMN settled numeric,
    ADD COLUMN created_at timestamptz;

  INSERT INTO {schema}.outbox_entries (caller, period, threshold, budget, settled, created_at, due_at)
    SELECT caller, period, threshold, budget, settled, created_at, leased_until
      FROM {schema}.budget_alerts ORDER BY sequence;
  INSERT INTO {schema}.outbox_entries (id, task, caller, endpoint, state, attempts, due_at, last_error, last_attempt)
    SELECT id, task, caller, endpoint, state, attempts, next_at, last_error, last_attempt
      FROM {schema}.webhook_messages ORDER BY sequence;

  DROP FUNCTION {schema}.take_messages;
  DROP TABLE {schema}.budget_alerts, {schema}.webhook_messages;

  -- Each index has its own condition, and no search by key has the condition of another one, see task-tables.ts. The last two are
  -- for searches that name is_waiting.
  CREATE INDEX outbox_records ON {schema}.outbox_entries (sequence) WHERE record IS NOT NULL;
  CREATE UNIQUE INDEX outbox_alerts ON {schema}.outbox_entries (caller, period, threshold)
    WHERE threshold IS NOT NULL AND endpoint IS NULL;
  CREATE INDEX outbox_by_age ON {schema}.outbox_entries (created_at) WHERE created_at IS NOT NULL;
  CREATE UNIQUE INDEX outbox_messages ON {schema}.outbox_entries (id) WHERE id IS NOT NULL;
  CREATE INDEX outbox_by_task ON {schema}.outbox_entries (task) WHERE task IS NOT NULL;
  CREATE INDEX outbox_by_endpoint ON {schema}.outbox_entries (caller, endpoint, sequence) WHERE endpoint IS NOT NULL;
  CREATE INDEX outbox_by_time ON {schema}.outbox_entries (due_at, sequence) WHERE coalesce(state = 'waiting', false);
  CREATE INDEX outbox_by_endpoint_and_time ON {schema}.outbox_entries (caller, endpoint, due_at, sequence)
    WHERE coalesce(state = 'waiting', false);

  CREATE VIEW {schema}.outbox AS
    SELECT sequence, record AS id, state, due_at AS leased_until FROM {schema}.outbox_entries WHERE record IS NOT NULL;

  CREATE VIEW {schema}.budget_alerts AS
    SELECT sequence, caller, period, threshold, budget, settled, created_at, due_at AS leased_until
      FROM {schema}.outbox_entries WHERE threshold IS NOT NULL AND endpoint IS NULL;

  CREATE VIEW {schema}.webhook_messages AS
    SELECT id, sequence, task, caller, endpoint, state, coalesce(state = 'waiting', false) AS is_waiting, attempts,
        due_at AS next_at, last_error, last_attempt
      FROM {schema}.outbox_entries WHERE endpoint IS NOT NULL;
  ALTER VIEW {schema}.webhook_messages ALTER COLUMN state SET DEFAULT 'waiting';
  ALTER VIEW {schema}.webhook_messages ALTER COLUMN id SET DEFAULT 'msg_' || replace(gen_random_uuid()::text, '-', '');

  -- Forgets alerts that waited for too long, and messages about such alerts.
  CREATE FUNCTION {schema}.forget_alerts(p_before timestamptz) RETURNS void LANGUAGE plpgsql {settings} AS $$
  BEGIN
    DELETE FROM {schema}.outbox_entries WHERE created_at < p_before;
  END $$;

  -- Leases messages that are due, each with its task, if it is about one.
  ${writeLease("lease_messages", { message: "outbox_entries", join: "LEFT JOIN", condition: "" })}
  -- The same for processes of an older version, which know no message about an alert.
  ${writeLease("take_messages", { message: "webhook_messages", join: "JOIN", condition: "AND m.task <> ''" })}
`;
