/**
 * Functions that submit, take and send tasks. A part of a step of `MIGRATIONS`; `{channel}` is the channel of the
 * notifications of the schema.
 */
export const TASK_QUEUE = `
  -- Times of tasks are whole milliseconds, as in the interface of the store.
  CREATE FUNCTION {schema}.task_instant(p_now_ms float8) RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
    SELECT date_trunc('milliseconds', coalesce(to_timestamp(p_now_ms / 1000), clock_timestamp()))
  $$;

  -- Notifies the listeners of all processes when the transaction commits. PostgreSQL limits a notification to 8,000 bytes,
  -- so many long ids are sent in several ones. An id has at most 512 bytes, or 3,074 in JSON.
  CREATE FUNCTION {schema}.tell(p_by uuid, p_is_queued boolean, p_has_message boolean, p_changed text[]) RETURNS void
  LANGUAGE plpgsql AS $$
  BEGIN
    IF cardinality(p_changed) = 0 THEN
      IF p_is_queued OR p_has_message THEN
        PERFORM pg_notify('{channel}',
          json_build_object('by', p_by, 'queued', p_is_queued, 'webhook', p_has_message)::text);
      END IF;
      RETURN;
    END IF;
    PERFORM pg_notify('{channel}', json_build_object('by', p_by, 'queued', p_is_queued AND page.number = 0,
        'webhook', p_has_message AND page.number = 0, 'changed', page.ids)::text)
      FROM (
        SELECT sized.number, json_agg(sized.id) AS ids FROM (
          SELECT c.id, sum(octet_length(to_json(c.id)::text) + 2) OVER (ORDER BY c.place) / 3500 AS number
            FROM unnest(p_changed) WITH ORDINALITY AS c (id, place)
        ) sized GROUP BY sized.number
      ) page;
  END $$;

  -- Makes sure that the lease of an owner lasts for half of its duration. The timer of the process is not enough: the
  -- process may have been paused for longer than its lease.
  CREATE FUNCTION {schema}.keep_owner(p_owner uuid, p_lease_ms float8, p_instant timestamptz) RETURNS void
  LANGUAGE plpgsql AS $$
  DECLARE
    lease interval := p_lease_ms * interval '1 millisecond';
  BEGIN
    IF NOT EXISTS (SELECT FROM {schema}.owners WHERE id = p_owner AND alive_until > p_instant + lease / 2) THEN
      INSERT INTO {schema}.owners (id, alive_until) VALUES (p_owner, p_instant + lease)
        ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until;
    END IF;
  END $$;

  -- The functions that search in the order of an index must not sort: then no other index can be used, also if the planner
  -- believes that it is empty. They call no other function, which would inherit this setting.

  -- The turn of the next task of a caller: after its last waiting task, or if none waits, the turn that is due. If the
  -- caller had the turn that is due already, it is the one after that. So a caller that always submits one more task does
  -- not go before the others again and again.
  CREATE FUNCTION {schema}.next_turn(p_caller text, p_due bigint) RETURNS bigint
  LANGUAGE plpgsql {settings} SET enable_sort = off AS $$
  DECLARE
    last_waiting bigint := (
      SELECT l.turn FROM (
        SELECT t.caller, t.turn FROM {schema}.tasks t WHERE t.is_waiting AND t.caller <= p_caller
          ORDER BY t.caller DESC, t.turn DESC, t.sequence DESC LIMIT 1
      ) l WHERE l.caller = p_caller);
    last bigint;
  BEGIN
    IF last_waiting IS NOT NULL THEN RETURN greatest(p_due, last_waiting + 1); END IF;
    last := (
      SELECT l.turn FROM (
        SELECT t.caller, t.turn FROM {schema}.tasks t WHERE t.caller <= p_caller
          ORDER BY t.caller DESC, t.sequence DESC LIMIT 1
      ) l WHERE l.caller = p_caller);
    RETURN CASE WHEN last >= p_due THEN p_due + 1 ELSE p_due END;
  END $$;

  -- Stores tasks with their holds. Returns the outcome of each, by its position from 1. No two have the same id, request id
  -- or key of repetition. All fail if the locks take longer than the patience.
  CREATE FUNCTION {schema}.submit_tasks(
    p_ids text[], p_request_ids text[], p_callers text[], p_models text[], p_operations text[], p_inputs text[],
    p_repeat_keys text[], p_fingerprints text[], p_webhooks text[], p_ttl_ms float8[], p_keep_ms float8[],
    p_amounts numeric[], p_budgets numeric[], p_holds text[],
    p_owner uuid, p_lease_ms float8, p_now_ms float8, p_patience_ms float8
  ) RETURNS TABLE (place bigint, outcome text, settled_then numeric, held_then numeric, known {schema}.tasks)
  LANGUAGE plpgsql {settings} AS $$
  DECLARE
    instant timestamptz := {schema}.task_instant(p_now_ms);
    places bigint[]; -- of the tasks that are new, then of those whose budget covers the hold
    earlier record;
    refusal record;
    due bigint;
    stored bigint;
  BEGIN
    PERFORM {schema}.keep_owner(p_owner, p_lease_ms, instant);
    PERFORM {schema}.lock_balances(p_callers);
    -- A cancellation of a task that is not stored yet locks the balance as well, so it either sees this task or is seen here.
    IF EXISTS (SELECT FROM {schema}.released_holds r WHERE r.id = ANY (p_ids)) THEN
      RAISE integrity_constraint_violation USING MESSAGE = 'The task was cancelled before it was stored.';
    END IF;
    places := ARRAY(SELECT generate_series(1, cardinality(p_ids)));
    FOR earlier IN
      SELECT i.place, t.id,
          CASE WHEN t.caller = i.caller AND t.fingerprint IS NOT DISTINCT FROM i.fingerprint
            THEN 'repeated' ELSE 'conflict' END AS outcome
        FROM unnest(p_ids, p_callers, p_repeat_keys, p_fingerprints)
          WITH ORDINALITY AS i (id, caller, repeat_key, fingerprint, place)
        CROSS JOIN LATERAL (
          SELECT s.id, s.caller, s.fingerprint FROM {schema}.tasks s WHERE s.id = i.id
          UNION ALL SELECT r.id, r.caller, r.fingerprint FROM {schema}.tasks r WHERE r.repeat_key = i.repeat_key
          LIMIT 1
        ) t
    LOOP
      places := array_remove(places, earlier.place);
      RETURN QUERY SELECT earlier.place, earlier.outcome, NULL::numeric, NULL::numeric, t
        FROM {schema}.tasks t WHERE t.id = earlier.id;
    END LOOP;
    IF cardinality(places) = 0 THEN RETURN; END IF;

    FOR refusal IN
      SELECT places[m.refused] AS place, m.settled_then, m.held_then
        FROM {schema}.make_holds(
          ARRAY(SELECT p_request_ids[n] FROM unnest(places) WITH ORDINALITY AS p (n, at) ORDER BY at),
          ARRAY(SELECT p_callers[n] FROM unnest(places) WITH ORDINALITY AS p (n, at) ORDER BY at),
          ARRAY(SELECT p_amounts[n] FROM unnest(places) WITH ORDINALITY AS p (n, at) ORDER BY at),
          ARRAY(SELECT p_budgets[n] FROM unnest(places) WITH ORDINALITY AS p (n, at) ORDER BY at),
          array_fill(0::float8, ARRAY[cardinality(places)]),
          ARRAY(SELECT p_holds[n] FROM unnest(places) WITH ORDINALITY AS p (n, at) ORDER BY at),
          p_owner, p_lease_ms, p_now_ms, p_patience_ms) m
    LOOP
      places := array_remove(places, refusal.place);
      RETURN QUERY SELECT refusal.place, 'refused', refusal.settled_then, refusal.held_then, NULL::{schema}.tasks;
    END LOOP;
    IF cardinality(places) = 0 THEN RETURN; END IF;

    UPDATE {schema}.holds h SET task = i.id, expires_at = 'infinity'
      FROM unnest(p_ids, p_request_ids) WITH ORDINALITY AS i (id, request_id, place)
      WHERE h.id = ANY (p_request_ids) AND h.id = i.request_id AND i.place = ANY (places);
    due := coalesce((SELECT d.turn FROM {schema}.task_turn d WHERE d.is_only), 0);
    INSERT INTO {schema}.tasks (id, request_id, caller, model, operation, turn, created_at, expires_at, keep, repeat_key,
        fingerprint, webhooks, input)
      SELECT i.id, i.request_id, i.caller, i.model, i.operation,
          first.turn + row_number() OVER (PARTITION BY i.caller ORDER BY i.place) - 1,
          instant, instant + i.ttl_ms * interval '1 millisecond', i.keep_ms * interval '1 millisecond',
          i.repeat_key, i.fingerprint, ARRAY(SELECT json_array_elements_text(i.webhooks::json)), i.input
        FROM unnest(p_ids, p_request_ids, p_callers, p_models, p_operations, p_inputs, p_repeat_keys, p_fingerprints,
            p_webhooks, p_ttl_ms, p_keep_ms)
          WITH ORDINALITY AS i (id, request_id, caller, model, operation, input, repeat_key, fingerprint, webhooks, ttl_ms,
            keep_ms, place)
        CROSS JOIN LATERAL (SELECT {schema}.next_turn(i.caller, due) AS turn OFFSET 0) first
        WHERE i.place = ANY (places)
        ORDER BY i.place
      ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS stored = ROW_COUNT;
    -- Another caller has just stored the same id or key. The statement is sent again and finds that task.
    IF stored < cardinality(places) THEN
      RAISE serialization_failure USING MESSAGE = 'Another task with this id or key was stored at the same time.';
    END IF;
    PERFORM {schema}.tell(p_owner, true, false, '{}');
    RETURN QUERY SELECT i.place, 'submitted', NULL::numeric, NULL::numeric, t
      FROM unnest(p_ids) WITH ORDINALITY AS i (id, place) JOIN {schema}.tasks t ON t.id = i.id
      WHERE t.id = ANY (p_ids) AND i.place = ANY (places);
  END $$;

  -- Locks waiting tasks in the order of their turns, not those that others have locked.
  CREATE FUNCTION {schema}.choose_tasks(p_limit bigint, p_instant timestamptz) RETURNS text[]
  LANGUAGE plpgsql {settings} SET enable_sort = off AS $$
  BEGIN
    RETURN ARRAY(
      SELECT t.id FROM {schema}.tasks t WHERE t.is_waiting AND t.expires_at > p_instant
        ORDER BY t.turn, t.sequence LIMIT p_limit FOR UPDATE SKIP LOCKED);
  END $$;

  -- Locks waiting tasks as choose_tasks does, but leaves callers out.
  CREATE FUNCTION {schema}.choose_tasks_except(p_limit bigint, p_except text[], p_instant timestamptz) RETURNS text[]
  LANGUAGE plpgsql {settings} SET enable_sort = off AS $$
  DECLARE
    -- How many waiting tasks are read before the callers are searched one by one.
    head_size bigint := greatest(1000, 4 * p_limit);
    -- More than needed, because other processes may be taking some of them.
    most bigint := 100 + 2 * p_limit;
    seen bigint := 0;
    item record;
    candidates text[] := '{}';
  BEGIN
    FOR item IN
      SELECT t.id, t.caller, t.expires_at FROM {schema}.tasks t WHERE t.is_waiting
        ORDER BY t.turn, t.sequence LIMIT head_size
    LOOP
      seen := seen + 1;
      IF item.expires_at > p_instant AND item.caller <> ALL (p_except) THEN
        candidates := candidates || item.id;
        EXIT WHEN cardinality(candidates) = most;
      END IF;
    END LOOP;
    IF cardinality(candidates) < p_limit AND seen = head_size THEN
      -- Most waiting tasks belong to callers that are left out. Goes from caller to caller, not from task to task.
      candidates := ARRAY(
        WITH RECURSIVE waiting (caller) AS (
          (SELECT t.caller FROM {schema}.tasks t WHERE t.is_waiting ORDER BY t.caller, t.turn, t.sequence LIMIT 1)
          UNION ALL
          SELECT (SELECT t.caller FROM {schema}.tasks t WHERE t.is_waiting AND t.caller > w.caller
              ORDER BY t.caller, t.turn, t.sequence LIMIT 1)
            FROM waiting w WHERE w.caller IS NOT NULL
        )
        SELECT f.id FROM waiting w
          CROSS JOIN LATERAL (
            SELECT t.id, t.caller, t.turn, t.sequence, t.expires_at FROM {schema}.tasks t
              WHERE t.is_waiting AND t.caller >= w.caller
              ORDER BY t.caller, t.turn, t.sequence LIMIT p_limit
          ) f
          WHERE w.caller <> ALL (p_except) AND f.caller = w.caller AND f.expires_at > p_instant
          ORDER BY f.turn, f.sequence LIMIT most);
    END IF;
    RETURN ARRAY(
      SELECT t.id FROM unnest(candidates) WITH ORDINALITY AS c (id, place) JOIN {schema}.tasks t ON t.id = c.id
        WHERE t.id = ANY (candidates) AND t.status = 'queued' AND t.owner IS NULL
        ORDER BY c.place LIMIT p_limit FOR UPDATE OF t SKIP LOCKED);
  END $$;

  -- Whether a task waits.
  CREATE FUNCTION {schema}.is_task_waiting() RETURNS boolean
  LANGUAGE plpgsql {settings} SET enable_sort = off AS $$
  BEGIN
    RETURN (SELECT t.is_waiting FROM {schema}.tasks t WHERE t.is_waiting ORDER BY t.turn, t.sequence LIMIT 1);
  END $$;

  -- Returns those of the ids whose tasks belong to an owner and have a status.
  CREATE FUNCTION {schema}.find_owned(p_ids text[], p_owner uuid, p_status text) RETURNS text[]
  LANGUAGE plpgsql {settings} AS $$
  BEGIN
    RETURN ARRAY(
      SELECT f.id FROM (SELECT t.id, t.owner, t.status FROM {schema}.tasks t WHERE t.id = ANY (p_ids) OFFSET 0) f
        WHERE f.owner = p_owner AND f.status = p_status);
  END $$;

  -- Locks the rows of tasks.
  CREATE FUNCTION {schema}.lock_tasks(p_ids text[]) RETURNS void LANGUAGE plpgsql {settings} AS $$
  BEGIN
    PERFORM 1 FROM {schema}.tasks t WHERE t.id = ANY (p_ids) ORDER BY t.id FOR UPDATE;
  END $$;

  -- Takes tasks for an owner, in the order of their turns.
  CREATE FUNCTION {schema}.take_tasks(
    p_limit bigint, p_except text[], p_step bigint, p_unsure_steps bigint[], p_owner uuid, p_lease_ms float8,
    p_now_ms float8
  ) RETURNS SETOF {schema}.tasks LANGUAGE plpgsql {settings} AS $$
  DECLARE
    instant timestamptz := {schema}.task_instant(p_now_ms);
    chosen text[];
    newest bigint;
  BEGIN
    -- The calls that took or marked these tasks failed, so the owner does not run them.
    IF cardinality(p_unsure_steps) > 0 THEN
      UPDATE {schema}.tasks t SET owner = NULL, status = 'queued'
        WHERE t.owner = p_owner AND t.step = ANY (p_unsure_steps);
    END IF;
    IF {schema}.is_task_waiting() IS NULL THEN RETURN; END IF;
    PERFORM {schema}.keep_owner(p_owner, p_lease_ms, instant);
    chosen := CASE WHEN cardinality(p_except) = 0 THEN {schema}.choose_tasks(p_limit, instant)
      ELSE {schema}.choose_tasks_except(p_limit, p_except, instant) END;
    IF cardinality(chosen) = 0 THEN RETURN; END IF;
    UPDATE {schema}.tasks t SET owner = p_owner, step = p_step WHERE t.id = ANY (chosen);
    RETURN QUERY SELECT t.* FROM unnest(chosen) WITH ORDINALITY AS c (id, place) JOIN {schema}.tasks t ON t.id = c.id
      WHERE t.id = ANY (chosen) ORDER BY c.place;
    newest := (SELECT max(t.turn) FROM {schema}.tasks t WHERE t.id = ANY (chosen));
    -- If another process is changing it, that turn is about as late.
    UPDATE {schema}.task_turn d SET turn = newest
      WHERE d.is_only = (
        SELECT u.is_only FROM {schema}.task_turn u WHERE u.is_only AND u.turn < newest FOR UPDATE SKIP LOCKED);
  END $$;

  -- Returns the ids of the tasks that may be sent.
  CREATE FUNCTION {schema}.mark_sent(p_ids text[], p_steps bigint[], p_owner uuid) RETURNS SETOF text
  LANGUAGE plpgsql {settings} AS $$
  DECLARE
    marked text[];
    again text[];
  BEGIN
    PERFORM {schema}.lock_tasks(p_ids);
    marked := {schema}.find_owned(p_ids, p_owner, 'queued');
    -- A call that is sent twice has the same step.
    again := ARRAY(
      SELECT t.id FROM unnest(p_ids, p_steps) AS i (id, step) JOIN {schema}.tasks t ON t.id = i.id
        WHERE t.id = ANY ({schema}.find_owned(p_ids, p_owner, 'in_progress')) AND t.step = i.step);
    UPDATE {schema}.tasks t SET status = 'in_progress', step = i.step FROM unnest(p_ids, p_steps) AS i (id, step)
      WHERE t.id = ANY (marked) AND t.id = i.id;
    PERFORM {schema}.tell(p_owner, false, false, marked);
    RETURN QUERY SELECT unnest(marked || again);
  END $$;

  -- Returns the number of tasks that are in the queue again.
  CREATE FUNCTION {schema}.put_back(p_ids text[], p_owner uuid) RETURNS bigint LANGUAGE plpgsql {settings} AS $$
  DECLARE
    returned text[];
  BEGIN
    PERFORM {schema}.lock_tasks(p_ids);
    returned := {schema}.find_owned(p_ids, p_owner, 'queued');
    UPDATE {schema}.tasks t SET owner = NULL WHERE t.id = ANY (returned);
    PERFORM {schema}.tell(p_owner, cardinality(returned) > 0, false, '{}');
    RETURN cardinality(returned);
  END $$;

  -- Returns whether the task has the images now.
  CREATE FUNCTION {schema}.add_images(p_id text, p_images text[], p_step bigint, p_owner uuid) RETURNS boolean
  LANGUAGE plpgsql {settings} AS $$
  BEGIN
    PERFORM {schema}.lock_tasks(ARRAY[p_id]);
    IF cardinality({schema}.find_owned(ARRAY[p_id], p_owner, 'in_progress')) = 0 THEN RETURN false; END IF;
    -- A call that is sent twice adds its images once.
    UPDATE {schema}.tasks t SET images = t.images || p_images, step = p_step WHERE t.id = p_id AND t.step < p_step;
    PERFORM {schema}.tell(p_owner, false, false, ARRAY[p_id]);
    RETURN true;
  END $$;
`;
