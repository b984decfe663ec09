/** Functions that the sweep of tasks calls. A part of a step of `MIGRATIONS`. */
export const TASK_SWEEP = `
  -- The owners of taken tasks that have no lease any more, and the calling owner if p_own.
  CREATE FUNCTION {schema}.dead_task_owners(p_owner uuid, p_own boolean, p_now_ms float8) RETURNS SETOF uuid
  LANGUAGE plpgsql {settings} SET enable_sort = off AS $$
  DECLARE
    instant timestamptz := {schema}.task_instant(p_now_ms);
  BEGIN
    RETURN QUERY WITH RECURSIVE holding (owner) AS (
      (SELECT t.owner FROM {schema}.tasks t WHERE t.owner IS NOT NULL ORDER BY t.owner, t.status LIMIT 1)
      UNION ALL
      SELECT (SELECT t.owner FROM {schema}.tasks t WHERE t.owner > h.owner ORDER BY t.owner, t.status LIMIT 1)
        FROM holding h WHERE h.owner IS NOT NULL
    )
    SELECT h.owner FROM holding h WHERE h.owner IS NOT NULL AND CASE WHEN h.owner = p_owner THEN p_own
      ELSE NOT EXISTS (SELECT FROM {schema}.owners o WHERE o.id = h.owner AND o.alive_until > instant) END;
  END $$;

  -- Puts tasks of dead owners back that were not sent, and those that a failed call of the calling owner took or marked.
  -- Returns how many, at most p_limit of each kind.
  CREATE FUNCTION {schema}.put_back_lost(p_dead uuid[], p_owner uuid, p_unsure_steps bigint[], p_limit bigint)
  RETURNS bigint LANGUAGE plpgsql {settings} AS $$
  DECLARE
    lost text[];
  BEGIN
    lost := ARRAY(
      SELECT t.id FROM {schema}.tasks t WHERE t.owner = ANY (p_dead) AND t.status = 'queued'
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    ) || ARRAY(
      SELECT t.id FROM {schema}.tasks t
        WHERE t.owner = p_owner AND t.step = ANY (p_unsure_steps)
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    );
    IF cardinality(lost) = 0 THEN RETURN 0; END IF;
    UPDATE {schema}.tasks t SET owner = NULL, status = 'queued' WHERE t.id = ANY (lost);
    PERFORM {schema}.tell(p_owner, true, false, '{}');
    RETURN cardinality(lost);
  END $$;

  -- Tasks of dead owners that were sent, with their holds; NULL if the hold was ended by itself. At most p_limit, and with
  -- about 16 MiB of inputs.
  CREATE FUNCTION {schema}.find_lost_tasks(p_dead uuid[], p_except text[], p_limit bigint)
  RETURNS TABLE (id text, owner uuid, hold text) LANGUAGE plpgsql {settings} AS $$
  BEGIN
    RETURN QUERY SELECT t.id, t.owner, h.hold::text
      FROM (
        SELECT l.id, l.owner, l.request_id,
            sum(octet_length(l.input)) OVER (ORDER BY l.id) - octet_length(l.input) AS bytes_before
          FROM (
            SELECT s.* FROM {schema}.tasks s
              WHERE s.owner = ANY (p_dead) AND s.status = 'in_progress' AND s.id <> ALL (p_except) LIMIT p_limit
          ) l
      ) t
      LEFT JOIN LATERAL (SELECT o.hold FROM {schema}.holds o WHERE o.id = t.request_id OFFSET 0) h ON true
      WHERE t.bytes_before < 16 * 1024 * 1024;
  END $$;

  -- Ends tasks that were sent and whose owners died, with unresolved records of their holds. The arrays of records have NULL
  -- for a task without a hold. Returns the tasks that this call ended, and whether it stored their records.
  CREATE FUNCTION {schema}.end_lost_tasks(
    p_ids text[], p_dead uuid[], p_record_ids text[], p_holds text[], p_time_ms float8[], p_callers text[],
    p_models text[], p_charges numeric[], p_records text[], p_error text, p_owner uuid, p_now_ms float8
  ) RETURNS TABLE (id text, lost_input text, has_message boolean, has_record boolean) LANGUAGE plpgsql {settings} AS $$
  DECLARE
    ending bigint[];
    holding bigint[];
    kept text[];
  BEGIN
    PERFORM {schema}.lock_balances(ARRAY(SELECT t.caller FROM {schema}.tasks t WHERE t.id = ANY (p_ids)));
    PERFORM {schema}.lock_tasks(p_ids);
    ending := ARRAY(
      SELECT i.place FROM unnest(p_ids, p_dead) WITH ORDINALITY AS i (id, owner, place)
        JOIN {schema}.tasks t ON t.id = i.id
        WHERE t.id = ANY (p_ids) AND t.owner = i.owner AND t.status = 'in_progress'
        ORDER BY i.place);
    IF cardinality(ending) = 0 THEN RETURN; END IF;
    holding := ARRAY(SELECT n FROM unnest(ending) AS n WHERE p_holds[n] IS NOT NULL ORDER BY n);
    kept := ARRAY(
      SELECT {schema}.end_lost(
        ARRAY(SELECT p_record_ids[n] FROM unnest(holding) WITH ORDINALITY AS h (n, at) ORDER BY at),
        ARRAY(SELECT p_holds[n] FROM unnest(holding) WITH ORDINALITY AS h (n, at) ORDER BY at),
        ARRAY(SELECT p_time_ms[n] FROM unnest(holding) WITH ORDINALITY AS h (n, at) ORDER BY at),
        ARRAY(SELECT p_callers[n] FROM unnest(holding) WITH ORDINALITY AS h (n, at) ORDER BY at),
        ARRAY(SELECT p_models[n] FROM unnest(holding) WITH ORDINALITY AS h (n, at) ORDER BY at),
        ARRAY(SELECT p_charges[n] FROM unnest(holding) WITH ORDINALITY AS h (n, at) ORDER BY at),
        ARRAY(SELECT p_records[n] FROM unnest(holding) WITH ORDINALITY AS h (n, at) ORDER BY at)));
    RETURN QUERY SELECT t.id, t.input, cardinality(t.webhooks) > 0, coalesce(p_record_ids[e.place] = ANY (kept), false)
      FROM unnest(ending) AS e (place) JOIN {schema}.tasks t ON t.id = p_ids[e.place]
      WHERE t.id = ANY (p_ids);
    PERFORM {schema}.finish_tasks(
      ARRAY(SELECT p_ids[n] FROM unnest(ending) WITH ORDINALITY AS e (n, at) ORDER BY at),
      array_fill('failed'::text, ARRAY[cardinality(ending)]),
      array_fill(NULL::text, ARRAY[cardinality(ending)]),
      array_fill(p_error, ARRAY[cardinality(ending)]),
      p_owner, {schema}.task_instant(p_now_ms));
  END $$;

  -- Finds tasks that waited too long: at most p_limit, and with about 16 MiB of inputs.
  CREATE FUNCTION {schema}.find_expired(p_limit bigint, p_instant timestamptz) RETURNS text[]
  LANGUAGE plpgsql {settings} SET enable_sort = off AS $$
  BEGIN
    RETURN ARRAY(
      SELECT sized.id FROM (
        SELECT first.id, sum(first.bytes) OVER (ORDER BY first.expires_at, first.id) - first.bytes AS bytes_before FROM (
          SELECT t.id, t.expires_at, octet_length(t.input) AS bytes FROM {schema}.tasks t
            WHERE t.ended_at IS NULL AND t.expires_at <= p_instant AND t.status = 'queued'
            ORDER BY t.expires_at LIMIT p_limit
        ) first
      ) sized WHERE sized.bytes_before < 16 * 1024 * 1024);
  END $$;

  -- Ends tasks that waited too long: those that find_expired finds. Returns those that this call ended.
  CREATE FUNCTION {schema}.expire_tasks(p_error text, p_limit bigint, p_owner uuid, p_now_ms float8)
  RETURNS TABLE (id text, expired_input text, has_message boolean) LANGUAGE plpgsql {settings} AS $$
  DECLARE
    instant timestamptz := {schema}.task_instant(p_now_ms);
    late text[];
    ending text[];
  BEGIN
    late := {schema}.find_expired(p_limit, instant);
    IF cardinality(late) = 0 THEN RETURN; END IF;
    PERFORM {schema}.lock_balances(ARRAY(SELECT t.caller FROM {schema}.tasks t WHERE t.id = ANY (late)));
    PERFORM {schema}.lock_tasks(late);
    ending := ARRAY(SELECT t.id FROM {schema}.tasks t WHERE t.id = ANY (late) AND t.status = 'queued');
    IF cardinality(ending) = 0 THEN RETURN; END IF;
    PERFORM {schema}.release(ARRAY(SELECT t.request_id FROM {schema}.tasks t WHERE t.id = ANY (ending)));
    RETURN QUERY SELECT t.id, t.input, cardinality(t.webhooks) > 0 FROM {schema}.tasks t WHERE t.id = ANY (ending);
    PERFORM {schema}.finish_tasks(ending, array_fill('failed'::text, ARRAY[cardinality(ending)]),
      array_fill(NULL::text, ARRAY[cardinality(ending)]), array_fill(p_error, ARRAY[cardinality(ending)]),
      p_owner, instant);
  END $$;

  -- Finds ended tasks whose time to be kept is over, after a position.
  CREATE FUNCTION {schema}.find_removable(p_after_time timestamptz, p_after_id text, p_limit bigint, p_instant timestamptz)
  RETURNS TABLE (id text, remove_at timestamptz) LANGUAGE plpgsql {settings} SET enable_sort = off AS $$
  BEGIN
    RETURN QUERY SELECT t.id, t.remove_at FROM {schema}.tasks t
      WHERE t.remove_at <= p_instant AND (t.remove_at, t.id) > (p_after_time, p_after_id)
      ORDER BY t.remove_at, t.id LIMIT p_limit;
  END $$;

  -- Deletes tasks whose time to be kept is over, unless a message about them waits for an endpoint that is not disabled.
  -- Looks at p_limit tasks after a position. Returns the position of the last one; no row if that was the end.
  CREATE FUNCTION {schema}.remove_tasks(p_after_time timestamptz, p_after_id text, p_limit bigint, p_now_ms float8)
  RETURNS TABLE (last_time timestamptz, last_id text) LANGUAGE plpgsql {settings} AS $$
  DECLARE
    instant timestamptz := {schema}.task_instant(p_now_ms);
    old text[];
    item record;
    seen bigint := 0;
  BEGIN
    FOR item IN SELECT r.id, r.remove_at FROM {schema}.find_removable(p_after_time, p_after_id, p_limit, instant) r LOOP
      seen := seen + 1;
      old := old || item.id;
      last_time := item.remove_at;
      last_id := item.id;
    END LOOP;
    IF seen = 0 THEN RETURN; END IF;
    old := ARRAY(
      SELECT t.id FROM {schema}.tasks t WHERE t.id = ANY (old)
        AND NOT EXISTS (
          SELECT FROM {schema}.webhook_messages m WHERE m.task = t.id AND m.state = 'waiting' AND NOT EXISTS (
            SELECT FROM {schema}.disabled_webhooks d WHERE d.caller = m.caller AND d.endpoint = m.endpoint)
          OFFSET 0)
        FOR UPDATE SKIP LOCKED);
    DELETE FROM {schema}.webhook_messages m WHERE m.task = ANY (old);
    DELETE FROM {schema}.tasks t WHERE t.id = ANY (old);
    IF seen = p_limit THEN RETURN NEXT; END IF;
  END $$;
`;
