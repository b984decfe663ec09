/** Functions of webhook messages. A part of a step of `MIGRATIONS`. */
export const WEBHOOK_MESSAGES = `
  -- Identifies an endpoint of a caller.
  CREATE FUNCTION {schema}.webhook_address(p_caller text, p_endpoint text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT length(p_caller) || ':' || p_caller || p_endpoint
  $$;

  -- Finds messages that are due, the longest waiting first, more than p_limit. The closed addresses are left out. It
  -- searches as choose_tasks_except does.
  CREATE FUNCTION {schema}.find_due_messages(p_limit bigint, p_closed text[], p_instant timestamptz) RETURNS text[]
  LANGUAGE plpgsql {settings} SET enable_sort = off AS $$
  DECLARE
    head_size bigint := greatest(1000, 4 * p_limit);
    most bigint := 100 + 2 * p_limit;
    seen bigint := 0;
    item record;
    candidates text[] := '{}';
  BEGIN
    FOR item IN
      SELECT m.id, {schema}.webhook_address(m.caller, m.endpoint) AS address FROM {schema}.webhook_messages m
        WHERE m.is_waiting AND m.next_at <= p_instant ORDER BY m.next_at, m.sequence LIMIT head_size
    LOOP
      seen := seen + 1;
      IF item.address <> ALL (p_closed) THEN
        candidates := candidates || item.id;
        EXIT WHEN cardinality(candidates) = most;
      END IF;
    END LOOP;
    IF cardinality(candidates) >= p_limit OR seen < head_size THEN RETURN candidates; END IF;
    RETURN ARRAY(
      WITH RECURSIVE waiting (caller, endpoint) AS (
        (SELECT m.caller, m.endpoint FROM {schema}.webhook_messages m WHERE m.is_waiting
          ORDER BY m.caller, m.endpoint, m.next_at, m.sequence LIMIT 1)
        UNION ALL
        SELECT n.caller, n.endpoint FROM waiting w CROSS JOIN LATERAL (
          SELECT m.caller, m.endpoint FROM {schema}.webhook_messages m
            WHERE m.is_waiting AND (m.caller, m.endpoint) > (w.caller, w.endpoint)
            ORDER BY m.caller, m.endpoint, m.next_at, m.sequence LIMIT 1
        ) n
      )
      SELECT f.id FROM waiting w
        CROSS JOIN LATERAL (
          SELECT m.id, m.caller, m.endpoint, m.next_at, m.sequence FROM {schema}.webhook_messages m
            WHERE m.is_waiting AND (m.caller, m.endpoint) >= (w.caller, w.endpoint)
            ORDER BY m.caller, m.endpoint, m.next_at, m.sequence LIMIT p_limit
        ) f
        WHERE {schema}.webhook_address(w.caller, w.endpoint) <> ALL (p_closed)
          AND f.caller = w.caller AND f.endpoint = w.endpoint AND f.next_at <= p_instant
        ORDER BY f.next_at, f.sequence LIMIT most);
  END $$;

  -- Leases messages that are due.
  CREATE FUNCTION {schema}.take_messages(
    p_limit bigint, p_lease_ms float8, p_except_callers text[], p_except_endpoints text[], p_now_ms float8
  ) RETURNS TABLE (message {schema}.webhook_messages, task {schema}.tasks) LANGUAGE plpgsql {settings} AS $$
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
        JOIN {schema}.webhook_messages m ON m.id = c.id
        WHERE m.id = ANY (candidates) AND m.state = 'waiting' AND m.next_at <= instant
        ORDER BY c.place LIMIT p_limit FOR UPDATE OF m SKIP LOCKED);
    UPDATE {schema}.webhook_messages m SET next_at = instant + p_lease_ms * interval '1 millisecond'
      WHERE m.id = ANY (chosen);
    RETURN QUERY SELECT m, t FROM unnest(chosen) WITH ORDINALITY AS c (id, place)
      JOIN {schema}.webhook_messages m ON m.id = c.id
      JOIN {schema}.tasks t ON t.id = m.task
      WHERE m.id = ANY (chosen)
        AND t.id = ANY (ARRAY(SELECT a.task FROM {schema}.webhook_messages a WHERE a.id = ANY (chosen)))
      ORDER BY c.place;
  END $$;

  -- Records an attempt: p_kind is 'delivered', 'retry' or 'given_up'.
  CREATE FUNCTION {schema}.finish_message(
    p_id text, p_attempt uuid, p_kind text, p_delay_ms float8, p_error text, p_now_ms float8
  ) RETURNS void LANGUAGE plpgsql {settings} AS $$
  BEGIN
    UPDATE {schema}.webhook_messages m
      SET attempts = m.attempts + 1, last_attempt = p_attempt, last_error = p_error,
        state = CASE p_kind WHEN 'retry' THEN 'waiting' ELSE p_kind END,
        next_at = CASE p_kind WHEN 'retry'
          THEN {schema}.task_instant(p_now_ms) + p_delay_ms * interval '1 millisecond' ELSE m.next_at END
      WHERE m.id = p_id AND m.last_attempt IS DISTINCT FROM p_attempt
        AND (m.state = 'waiting' OR (m.state = 'given_up' AND p_kind = 'delivered'));
  END $$;

  -- The plans of these functions are kept: each of their statements can be done in one way only.
  ALTER FUNCTION {schema}.next_turn SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.submit_tasks SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.choose_tasks SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.choose_tasks_except SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.is_task_waiting SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.find_owned SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.lock_tasks SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.take_tasks SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.mark_sent SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.put_back SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.add_images SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.finish_tasks SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.end_tasks SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.cancel_task SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.find_task SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.list_tasks SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.find_due_messages SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.take_messages SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.finish_message SET plan_cache_mode = force_generic_plan;
`;
