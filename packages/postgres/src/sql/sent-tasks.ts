/** Tasks that were sent, whose process died, and that another process continues. A step of `MIGRATIONS`. */
export const SENT_TASKS = `
  -- What another process needs to continue a task that was sent; NULL if it cannot be continued, and after its end.
  ALTER TABLE {schema}.tasks ADD COLUMN upstream text;
  -- The number of the call of the owner that stored it. A statement of an earlier call that arrives late changes nothing.
  ALTER TABLE {schema}.tasks ADD COLUMN upstream_step bigint NOT NULL DEFAULT 0;
  CREATE INDEX tasks_to_continue ON {schema}.tasks (sequence) WHERE status = 'in_progress' AND owner IS NULL;

  -- Stores what is needed to continue a task.
  CREATE FUNCTION {schema}.keep_upstream(p_id text, p_upstream text, p_step bigint, p_owner uuid) RETURNS void
  LANGUAGE plpgsql {settings} AS $$
  BEGIN
    PERFORM {schema}.lock_tasks(ARRAY[p_id]);
    IF cardinality({schema}.find_owned(ARRAY[p_id], p_owner, 'in_progress')) = 0 THEN RETURN; END IF;
    UPDATE {schema}.tasks t SET upstream = p_upstream, upstream_step = p_step
      WHERE t.id = p_id AND t.upstream_step < p_step;
  END $$;

  -- Returns those of the ids whose tasks belong to an owner and can be continued.
  CREATE FUNCTION {schema}.find_continuable(p_ids text[], p_owner uuid) RETURNS text[]
  LANGUAGE plpgsql {settings} AS $$
  BEGIN
    RETURN ARRAY(
      SELECT f.id FROM (
        SELECT t.id, t.owner, t.status, t.upstream IS NOT NULL AS is_kept FROM {schema}.tasks t
          WHERE t.id = ANY (p_ids) OFFSET 0
      ) f WHERE f.owner = p_owner AND f.status = 'in_progress' AND f.is_kept);
  END $$;

  -- Locks tasks to be continued, the oldest first, not those that others have locked.
  CREATE FUNCTION {schema}.choose_sent_tasks(p_limit bigint, p_except text[]) RETURNS text[]
  LANGUAGE plpgsql {settings} SET enable_sort = off AS $$
  BEGIN
    RETURN ARRAY(
      SELECT t.id FROM {schema}.tasks t
        WHERE t.status = 'in_progress' AND t.owner IS NULL AND t.caller <> ALL (p_except)
        ORDER BY t.sequence LIMIT p_limit FOR UPDATE SKIP LOCKED);
  END $$;

  -- Whether a task is to be continued.
  CREATE FUNCTION {schema}.is_task_sent() RETURNS boolean
  LANGUAGE plpgsql {settings} SET enable_sort = off AS $$
  BEGIN
    RETURN (SELECT true FROM {schema}.tasks t WHERE t.status = 'in_progress' AND t.owner IS NULL
      ORDER BY t.sequence LIMIT 1);
  END $$;

  -- Takes tasks to be continued, then tasks from the queue. Processes of an older version call take_tasks: they cannot
  -- continue tasks.
  CREATE FUNCTION {schema}.take_sent_and_waiting_tasks(
    p_limit bigint, p_except text[], p_step bigint, p_unsure_steps bigint[], p_owner uuid, p_lease_ms float8,
    p_now_ms float8
  ) RETURNS SETOF {schema}.tasks LANGUAGE plpgsql {settings} AS $$
  DECLARE
    chosen text[] := '{}';
  BEGIN
    -- The calls that took or marked these tasks failed, so the owner does not run them.
    IF cardinality(p_unsure_steps) > 0 THEN
      UPDATE {schema}.tasks t SET owner = NULL, status = CASE WHEN t.upstream IS NULL THEN 'queued' ELSE t.status END
        WHERE t.owner = p_owner AND t.step = ANY (p_unsure_steps);
    END IF;
    IF {schema}.is_task_sent() THEN
      PERFORM {schema}.keep_owner(p_owner, p_lease_ms, {schema}.task_instant(p_now_ms));
      chosen := {schema}.choose_sent_tasks(p_limit, p_except);
      UPDATE {schema}.tasks t SET owner = p_owner, step = p_step, upstream_step = 0 WHERE t.id = ANY (chosen);
      RETURN QUERY SELECT t.* FROM unnest(chosen) WITH ORDINALITY AS c (id, place) JOIN {schema}.tasks t ON t.id = c.id
        WHERE t.id = ANY (chosen) ORDER BY c.place;
    END IF;
    IF cardinality(chosen) < p_limit THEN
      RETURN QUERY SELECT t.* FROM {schema}.take_tasks(
        p_limit - cardinality(chosen), p_except, p_step, '{}', p_owner, p_lease_ms, p_now_ms) t;
    END IF;
  END $$;

  -- Returns the number of tasks that wait for a worker again.
  CREATE OR REPLACE FUNCTION {schema}.put_back(p_ids text[], p_owner uuid) RETURNS bigint
  LANGUAGE plpgsql {settings} AS $$
  DECLARE
    returned text[];
  BEGIN
    PERFORM {schema}.lock_tasks(p_ids);
    returned := {schema}.find_owned(p_ids, p_owner, 'queued') || {schema}.find_continuable(p_ids, p_owner);
    UPDATE {schema}.tasks t SET owner = NULL WHERE t.id = ANY (returned);
    PERFORM {schema}.tell(p_owner, cardinality(returned) > 0, false, '{}');
    RETURN cardinality(returned);
  END $$;

  -- Puts tasks of dead owners back that were not sent or can be continued, and those that a failed call of the calling owner
  -- took or marked. Returns how many, at most p_limit of each kind.
  CREATE OR REPLACE FUNCTION {schema}.put_back_lost(
    p_dead uuid[], p_owner uuid, p_unsure_steps bigint[], p_limit bigint
  ) RETURNS bigint LANGUAGE plpgsql {settings} AS $$
  DECLARE
    lost text[];
  BEGIN
    lost := ARRAY(
      SELECT t.id FROM {schema}.tasks t WHERE t.owner = ANY (p_dead) AND t.status = 'queued'
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    ) || ARRAY(
      SELECT t.id FROM {schema}.tasks t
        WHERE t.owner = ANY (p_dead) AND t.status = 'in_progress' AND t.upstream IS NOT NULL
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    ) || ARRAY(
      SELECT t.id FROM {schema}.tasks t
        WHERE t.owner = p_owner AND t.step = ANY (p_unsure_steps)
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    );
    IF cardinality(lost) = 0 THEN RETURN 0; END IF;
    UPDATE {schema}.tasks t SET owner = NULL, status = CASE WHEN t.upstream IS NULL THEN 'queued' ELSE t.status END
      WHERE t.id = ANY (lost);
    PERFORM {schema}.tell(p_owner, true, false, '{}');
    RETURN cardinality(lost);
  END $$;

  -- Tasks of dead owners that were sent and cannot be continued, with their holds; NULL if the hold was ended by itself. At
  -- most p_limit, and with about 16 MiB of inputs.
  CREATE OR REPLACE FUNCTION {schema}.find_lost_tasks(p_dead uuid[], p_except text[], p_limit bigint)
  RETURNS TABLE (id text, owner uuid, hold text) LANGUAGE plpgsql {settings} AS $$
  BEGIN
    RETURN QUERY SELECT t.id, t.owner, h.hold::text
      FROM (
        SELECT l.id, l.owner, l.request_id,
            sum(octet_length(l.input)) OVER (ORDER BY l.id) - octet_length(l.input) AS bytes_before
          FROM (
            SELECT s.* FROM {schema}.tasks s
              WHERE s.owner = ANY (p_dead) AND s.status = 'in_progress' AND s.upstream IS NULL AND s.id <> ALL (p_except)
              LIMIT p_limit
          ) l
      ) t
      LEFT JOIN LATERAL (SELECT o.hold FROM {schema}.holds o WHERE o.id = t.request_id OFFSET 0) h ON true
      WHERE t.bytes_before < 16 * 1024 * 1024;
  END $$;

  -- Gives tasks their final states and writes their messages. The rows are locked, and the holds are ended.
  CREATE OR REPLACE FUNCTION {schema}.finish_tasks(
    p_ids text[], p_statuses text[], p_results text[], p_errors text[], p_owner uuid, p_instant timestamptz
  ) RETURNS void LANGUAGE plpgsql {settings} AS $$
  DECLARE
    written bigint;
  BEGIN
    UPDATE {schema}.tasks t
      SET status = i.status, result = i.result, error = i.error, ended_at = p_instant, remove_at = p_instant + t.keep,
        input = '', upstream = NULL, images = '{}', owner = NULL
      FROM unnest(p_ids, p_statuses, p_results, p_errors) AS i (id, status, result, error)
      WHERE t.id = ANY (p_ids) AND t.id = i.id;
    INSERT INTO {schema}.webhook_messages (task, caller, endpoint, next_at)
      SELECT t.id, t.caller, w.endpoint, p_instant
        FROM unnest(p_ids) WITH ORDINALITY AS i (id, place) JOIN {schema}.tasks t ON t.id = i.id
        CROSS JOIN unnest(t.webhooks) WITH ORDINALITY AS w (endpoint, place)
        WHERE t.id = ANY (p_ids)
        ORDER BY i.place, w.place;
    GET DIAGNOSTICS written = ROW_COUNT;
    PERFORM {schema}.tell(p_owner, false, written > 0, p_ids);
  END $$;
`;
