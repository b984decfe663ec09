/** The share of each caller in the room for tasks that have not ended, and in the senders of webhooks. A step of `MIGRATIONS`. */
export const TASK_SHARES = `
  -- What each caller has: how many tasks, and the bytes of their inputs. It is changed while the balance of the caller is
  -- locked.
  CREATE TABLE {schema}.task_shares (
    caller text COLLATE "C" PRIMARY KEY,
    tasks bigint NOT NULL,
    bytes bigint NOT NULL
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

  -- The bytes of its input. NULL: the task is not counted, because it was submitted before this step.
  ALTER TABLE {schema}.tasks ADD COLUMN share_bytes bigint;

  -- Triggers, so that the functions of older versions count as well.
  CREATE FUNCTION {schema}.measure_task() RETURNS trigger LANGUAGE plpgsql {settings} AS $$
  BEGIN
    NEW.share_bytes := octet_length(NEW.input);
    RETURN NEW;
  END $$;

  CREATE FUNCTION {schema}.take_task_share() RETURNS trigger LANGUAGE plpgsql {settings} AS $$
  BEGIN
    INSERT INTO {schema}.task_shares AS s (caller, tasks, bytes) VALUES (NEW.caller, 1, NEW.share_bytes)
      ON CONFLICT (caller) DO UPDATE SET tasks = s.tasks + 1, bytes = s.bytes + excluded.bytes;
    RETURN NULL;
  END $$;

  CREATE FUNCTION {schema}.return_task_share() RETURNS trigger LANGUAGE plpgsql {settings} AS $$
  BEGIN
    UPDATE {schema}.task_shares s SET tasks = s.tasks - 1, bytes = s.bytes - OLD.share_bytes WHERE s.caller = OLD.caller;
    DELETE FROM {schema}.task_shares s WHERE s.caller = OLD.caller AND s.tasks = 0;
    RETURN NULL;
  END $$;

  CREATE TRIGGER measure_task BEFORE INSERT ON {schema}.tasks FOR EACH ROW WHEN (NEW.ended_at IS NULL)
    EXECUTE FUNCTION {schema}.measure_task();
  CREATE TRIGGER take_task_share AFTER INSERT ON {schema}.tasks FOR EACH ROW WHEN (NEW.ended_at IS NULL)
    EXECUTE FUNCTION {schema}.take_task_share();
  CREATE TRIGGER return_task_share AFTER UPDATE OF ended_at ON {schema}.tasks FOR EACH ROW
    WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND OLD.share_bytes IS NOT NULL)
    EXECUTE FUNCTION {schema}.return_task_share();

  -- The rule of fitsShare in @calotype/core. Without a capacity everything fits.
  CREATE FUNCTION {schema}.fits_share(p_own numeric, p_all numeric, p_size bigint, p_capacity numeric) RETURNS boolean
  LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_capacity IS NULL THEN true
      WHEN p_own = 0 THEN p_size <= p_capacity - p_all
      ELSE 2 * (p_own + p_size) <= p_capacity - (p_all - p_own) END
  $$;

  -- Stores tasks as submit_tasks does, except those that exceed the share of their caller: their outcome is 'full' if the
  -- caller has no task, and 'share_used' if it has one. A task that is stored already counts as such. Later tasks of a caller
  -- do not fit either, so that their order is kept.
  CREATE FUNCTION {schema}.submit_tasks_within_shares(
    p_ids text[], p_request_ids text[], p_callers text[], p_models text[], p_operations text[], p_inputs text[],
    p_repeat_keys text[], p_fingerprints text[], p_webhooks text[], p_ttl_ms float8[], p_keep_ms float8[],
    p_amounts numeric[], p_budgets numeric[], p_holds text[], p_room_tasks numeric[], p_room_bytes numeric[],
    p_owner uuid, p_lease_ms float8, p_now_ms float8, p_patience_ms float8
  ) RETURNS TABLE (place bigint, outcome text, settled_then numeric, held_then numeric, known {schema}.tasks)
  LANGUAGE plpgsql {settings} AS $$
  DECLARE
    all_tasks numeric;
    all_bytes numeric;
    own_tasks numeric;
    own_bytes numeric;
    own_caller text;
    item record;
    fitting bigint[] := '{}';
  BEGIN
    PERFORM {schema}.keep_owner(p_owner, p_lease_ms, {schema}.task_instant(p_now_ms));
    PERFORM {schema}.lock_balances(p_callers);
    SELECT coalesce(sum(s.tasks), 0), coalesce(sum(s.bytes), 0) INTO all_tasks, all_bytes FROM {schema}.task_shares s;
    FOR item IN
      SELECT i.place, i.caller, octet_length(i.input)::bigint AS bytes, i.room_tasks, i.room_bytes,
          t.id IS NOT NULL AS is_known
        FROM unnest(p_ids, p_callers, p_inputs, p_repeat_keys, p_room_tasks, p_room_bytes)
          WITH ORDINALITY AS i (id, caller, input, repeat_key, room_tasks, room_bytes, place)
        LEFT JOIN LATERAL (
          SELECT s.id FROM {schema}.tasks s WHERE s.id = i.id
          UNION ALL SELECT r.id FROM {schema}.tasks r WHERE r.repeat_key = i.repeat_key
          LIMIT 1
        ) t ON true
        ORDER BY i.caller, i.place
    LOOP
      IF own_caller IS DISTINCT FROM item.caller THEN
        own_caller := item.caller;
        SELECT coalesce(sum(s.tasks), 0), coalesce(sum(s.bytes), 0) INTO own_tasks, own_bytes
          FROM {schema}.task_shares s WHERE s.caller = item.caller;
      END IF;
      IF item.is_known THEN
        fitting := fitting || item.place;
      ELSIF {schema}.fits_share(own_tasks, all_tasks, 1, item.room_tasks)
        AND {schema}.fits_share(own_bytes, all_bytes, item.bytes, item.room_bytes)
      THEN
        fitting := fitting || item.place;
        own_tasks := own_tasks + 1;
        all_tasks := all_tasks + 1;
        own_bytes := own_bytes + item.bytes;
        all_bytes := all_bytes + item.bytes;
      ELSE
        RETURN QUERY SELECT item.place, CASE WHEN own_tasks > 0 THEN 'share_used' ELSE 'full' END, NULL::numeric,
          NULL::numeric, NULL::{schema}.tasks;
      END IF;
    END LOOP;
    IF cardinality(fitting) = 0 THEN RETURN; END IF;
    fitting := ARRAY(SELECT n FROM unnest(fitting) AS n ORDER BY n);
    RETURN QUERY SELECT fitting[s.place], s.outcome, s.settled_then, s.held_then, s.known
      FROM {schema}.submit_tasks(
        {schema}.at_places(p_ids, fitting), {schema}.at_places(p_request_ids, fitting),
        {schema}.at_places(p_callers, fitting), {schema}.at_places(p_models, fitting),
        {schema}.at_places(p_operations, fitting), {schema}.at_places(p_inputs, fitting),
        {schema}.at_places(p_repeat_keys, fitting), {schema}.at_places(p_fingerprints, fitting),
        {schema}.at_places(p_webhooks, fitting), {schema}.at_places(p_ttl_ms, fitting),
        {schema}.at_places(p_keep_ms, fitting), {schema}.at_places(p_amounts, fitting),
        {schema}.at_places(p_budgets, fitting), {schema}.at_places(p_holds, fitting),
        p_owner, p_lease_ms, p_now_ms, p_patience_ms) s;
  END $$;

  -- The values at these places, in their order.
  CREATE FUNCTION {schema}.at_places(p_values anyarray, p_places bigint[]) RETURNS anyarray LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY(SELECT p_values[n] FROM unnest(p_places) WITH ORDINALITY AS i (n, at) ORDER BY at)
  $$;

  -- Identifies an endpoint of a caller; without the endpoint, all of them.
  CREATE OR REPLACE FUNCTION {schema}.webhook_address(p_caller text, p_endpoint text) RETURNS text
  LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(length(p_caller) || ':' || p_caller || p_endpoint, '*' || p_caller)
  $$;

  -- As before, and the address of all endpoints of a caller may be closed.
  CREATE OR REPLACE FUNCTION {schema}.find_due_messages(p_limit bigint, p_closed text[], p_instant timestamptz) RETURNS text[]
  LANGUAGE plpgsql {settings} SET enable_sort = off AS $$
  DECLARE
    head_size bigint := greatest(1000, 4 * p_limit);
    most bigint := 100 + 2 * p_limit;
    seen bigint := 0;
    item record;
    candidates text[] := '{}';
  BEGIN
    FOR item IN
      SELECT m.id, {schema}.webhook_address(m.caller, m.endpoint) AS address,
          {schema}.webhook_address(m.caller, NULL) AS all_of_caller
        FROM {schema}.webhook_messages m
        WHERE m.is_waiting AND m.next_at <= p_instant ORDER BY m.next_at, m.sequence LIMIT head_size
    LOOP
      seen := seen + 1;
      IF item.address <> ALL (p_closed) AND item.all_of_caller <> ALL (p_closed) THEN
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
          AND {schema}.webhook_address(w.caller, NULL) <> ALL (p_closed)
          AND f.caller = w.caller AND f.endpoint = w.endpoint AND f.next_at <= p_instant
        ORDER BY f.next_at, f.sequence LIMIT most);
  END $$;

  -- CREATE OR REPLACE has dropped this setting.
  ALTER FUNCTION {schema}.find_due_messages SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.submit_tasks_within_shares SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.take_task_share SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.return_task_share SET plan_cache_mode = force_generic_plan;
`;
