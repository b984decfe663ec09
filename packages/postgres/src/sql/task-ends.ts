/** Functions that end and read tasks. A part of a step of `MIGRATIONS`. */
export const TASK_ENDS = `
  -- Gives tasks their final states and writes their messages. The rows are locked, and the holds are ended.
  CREATE FUNCTION {schema}.finish_tasks(
    p_ids text[], p_statuses text[], p_results text[], p_errors text[], p_owner uuid, p_instant timestamptz
  ) RETURNS void LANGUAGE plpgsql {settings} AS $$
  DECLARE
    written bigint;
  BEGIN
    UPDATE {schema}.tasks t
      SET status = i.status, result = i.result, error = i.error, ended_at = p_instant, remove_at = p_instant + t.keep,
        input = '', images = '{}', owner = NULL
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

  -- Ends tasks and their holds. Those with a record are settled; the record arrays have only these. Returns the tasks that
  -- this call ended.
  CREATE FUNCTION {schema}.end_tasks(
    p_ids text[], p_statuses text[], p_results text[], p_errors text[], p_have_records boolean[],
    p_record_ids text[], p_time_ms float8[], p_callers text[], p_models text[], p_channels text[], p_images bigint[],
    p_charges numeric[], p_records text[], p_owner uuid, p_now_ms float8
  ) RETURNS TABLE (id text, has_message boolean) LANGUAGE plpgsql {settings} AS $$
  DECLARE
    ending bigint[];
    releasing text[];
  BEGIN
    PERFORM {schema}.lock_balances(
      p_callers || ARRAY(SELECT t.caller FROM {schema}.tasks t WHERE t.id = ANY (p_ids)));
    PERFORM {schema}.lock_tasks(p_ids);
    ending := ARRAY(
      SELECT i.place FROM unnest(p_ids, p_have_records) WITH ORDINALITY AS i (id, has_record, place)
        JOIN {schema}.tasks t ON t.id = i.id
        WHERE t.id = ANY (p_ids) AND t.status IN ('queued', 'in_progress') AND (i.has_record OR t.owner = p_owner));
    releasing := ARRAY(
      SELECT t.request_id FROM unnest(p_ids, p_have_records) WITH ORDINALITY AS i (id, has_record, place)
        JOIN {schema}.tasks t ON t.id = i.id
        WHERE t.id = ANY (p_ids) AND NOT i.has_record AND (i.place = ANY (ending) OR t.status NOT IN ('queued', 'in_progress')));
    IF cardinality(p_record_ids) > 0 THEN
      PERFORM {schema}.settle(p_record_ids, p_time_ms, p_callers, p_models, p_channels, p_images, p_charges, p_records);
    END IF;
    IF cardinality(releasing) > 0 THEN PERFORM {schema}.release(releasing); END IF;
    IF cardinality(ending) = 0 THEN RETURN; END IF;
    RETURN QUERY SELECT t.id, cardinality(t.webhooks) > 0 FROM unnest(ending) AS e (place)
      JOIN {schema}.tasks t ON t.id = p_ids[e.place] WHERE t.id = ANY (p_ids);
    PERFORM {schema}.finish_tasks(
      ARRAY(SELECT p_ids[n] FROM unnest(ending) WITH ORDINALITY AS e (n, at) ORDER BY at),
      ARRAY(SELECT p_statuses[n] FROM unnest(ending) WITH ORDINALITY AS e (n, at) ORDER BY at),
      ARRAY(SELECT p_results[n] FROM unnest(ending) WITH ORDINALITY AS e (n, at) ORDER BY at),
      ARRAY(SELECT p_errors[n] FROM unnest(ending) WITH ORDINALITY AS e (n, at) ORDER BY at),
      p_owner, {schema}.task_instant(p_now_ms));
  END $$;

  -- Cancels a task that was not sent. If it is unsure whether the task was stored, it is not stored after this. Returns the
  -- task as it is now, and its input if this call cancelled it.
  CREATE FUNCTION {schema}.cancel_task(p_caller text, p_id text, p_is_unsure boolean, p_owner uuid, p_now_ms float8)
  RETURNS TABLE (cancelled_input text, has_message boolean, task {schema}.tasks) LANGUAGE plpgsql {settings} AS $$
  DECLARE
    waiting {schema}.tasks; -- NULL if this call does not cancel the task
  BEGIN
    IF p_is_unsure THEN
      PERFORM {schema}.lock_balances(ARRAY[p_caller]);
      INSERT INTO {schema}.released_holds (id) VALUES (p_id) ON CONFLICT DO NOTHING;
    END IF;
    IF EXISTS (SELECT FROM {schema}.find_task(p_caller, p_id) t WHERE t.status = 'queued') THEN
      PERFORM {schema}.lock_balances(ARRAY[p_caller]);
      SELECT t.* INTO waiting FROM {schema}.tasks t WHERE t.id = p_id AND t.status = 'queued' FOR UPDATE;
      IF FOUND THEN
        PERFORM {schema}.release(ARRAY[waiting.request_id]);
        PERFORM {schema}.finish_tasks(ARRAY[p_id], ARRAY['cancelled'], ARRAY[NULL], ARRAY[NULL], p_owner,
          {schema}.task_instant(p_now_ms));
      END IF;
    END IF;
    RETURN QUERY SELECT waiting.input, coalesce(cardinality(waiting.webhooks) > 0, false), t
      FROM {schema}.find_task(p_caller, p_id) t;
  END $$;

  CREATE FUNCTION {schema}.find_task(p_caller text, p_id text) RETURNS SETOF {schema}.tasks
  LANGUAGE plpgsql {settings} AS $$
  BEGIN
    -- OFFSET 0 keeps the planner from searching by the caller.
    RETURN QUERY SELECT f.* FROM (SELECT t.* FROM {schema}.tasks t WHERE t.id = p_id OFFSET 0) f
      WHERE f.caller = p_caller;
  END $$;

  -- The newest first, after the task with the id p_after; NULL begins with the newest.
  CREATE FUNCTION {schema}.list_tasks(p_caller text, p_limit bigint, p_after text) RETURNS SETOF {schema}.tasks
  LANGUAGE plpgsql {settings} SET enable_sort = off AS $$
  DECLARE
    behind bigint := 9223372036854775807;
  BEGIN
    IF p_after IS NOT NULL THEN
      SELECT f.sequence INTO behind
        FROM (SELECT t.caller, t.sequence FROM {schema}.tasks t WHERE t.id = p_after OFFSET 0) f
        WHERE f.caller = p_caller;
    END IF;
    RETURN QUERY SELECT t.* FROM {schema}.tasks t WHERE t.caller = p_caller AND t.sequence < behind
      ORDER BY t.sequence DESC LIMIT p_limit;
  END $$;
`;
