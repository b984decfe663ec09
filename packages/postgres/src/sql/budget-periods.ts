/**
 * The function that makes holds.
 *
 * @param recorded those of the ids that have a record, in SQL
 */
export const writeMakeHolds = (recorded: string): string => `CREATE OR REPLACE FUNCTION {schema}.make_holds(
    p_ids text[], p_callers text[], p_amounts numeric[], p_budgets numeric[], p_ttl_ms float8[], p_holds text[],
    p_owner uuid, p_lease_ms float8, p_now_ms float8, p_patience_ms float8
  ) RETURNS TABLE (refused bigint, settled_then numeric, held_then numeric) LANGUAGE plpgsql {settings} AS $$
  DECLARE
    instant timestamptz := coalesce(to_timestamp(p_now_ms / 1000), clock_timestamp());
    lease interval := p_lease_ms * interval '1 millisecond';
    recorded text[];
    granted boolean[] := array_fill(false, ARRAY[cardinality(p_ids)]);
    periods text[] := array_fill(NULL::text, ARRAY[cardinality(p_ids)]);
    item record;
    its_caller text;
    its_period text;
    added numeric; -- to the balance of the caller
    period_settled numeric;
    period_held numeric; -- with what was added
  BEGIN
    -- The timer of the process is not enough: the process may have been paused for longer than its lease.
    IF NOT EXISTS (SELECT FROM {schema}.owners WHERE id = p_owner AND alive_until > instant + lease / 2) THEN
      INSERT INTO {schema}.owners (id, alive_until) VALUES (p_owner, instant + lease)
        ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until;
    END IF;
    PERFORM {schema}.lock_balances(p_callers);
    -- The caller of this statement has given up by now.
    IF clock_timestamp() > statement_timestamp() + p_patience_ms * interval '1 millisecond' THEN
      RAISE query_canceled USING MESSAGE = 'The balances were locked for longer than a hold may take.';
    END IF;
    -- A release locks the balances as well, so it either sees these holds or is seen here.
    IF EXISTS (SELECT FROM {schema}.released_holds WHERE id = ANY (p_ids)) THEN
      RAISE integrity_constraint_violation USING MESSAGE = 'The hold was released before it was made.';
    END IF;
    -- The time after the wait for the locks: a hold never counts in a period that ended before the hold was checked.
    instant := coalesce(to_timestamp(p_now_ms / 1000), clock_timestamp());
    recorded := ${recorded};
    FOR item IN
      SELECT i.place, i.caller, coalesce(i.amount, 0) AS amount, i.budget, b.settled, b.held, b.budget AS known_budget,
          CASE WHEN i.budget IS NOT NULL THEN {schema}.choose_period(i.hold, instant) END AS period
        FROM unnest(p_ids, p_callers, p_amounts, p_budgets, p_holds)
          WITH ORDINALITY AS i (id, caller, amount, budget, hold, place)
        CROSS JOIN LATERAL (SELECT * FROM {schema}.balances WHERE caller = i.caller OFFSET 0) b
        WHERE NOT EXISTS (SELECT FROM {schema}.holds h WHERE h.id = i.id OFFSET 0) AND i.id <> ALL (recorded)
        ORDER BY b.caller, period NULLS FIRST, i.place
    LOOP
      IF item.caller IS DISTINCT FROM its_caller THEN
        its_caller := item.caller;
        its_period := NULL;
        added := 0;
      END IF;
      IF item.period IS DISTINCT FROM its_period THEN
        its_period := item.period;
        SELECT p.settled, p.held INTO period_settled, period_held FROM {schema}.period_balances p
          WHERE p.caller = item.caller AND p.period = item.period;
        IF NOT FOUND THEN
          period_settled := 0;
          period_held := 0;
        END IF;
      END IF;
      IF (CASE WHEN item.period IS NULL THEN item.settled + item.held + added ELSE period_settled + period_held END)
          + item.amount > item.budget THEN
        refused := item.place;
        settled_then := trim_scale(CASE WHEN item.period IS NULL THEN item.settled ELSE period_settled END);
        held_then := trim_scale(CASE WHEN item.period IS NULL THEN item.held + added ELSE period_held END);
        RETURN NEXT;
      ELSE
        added := added + item.amount;
        period_held := period_held + item.amount;
        granted[item.place] := true;
        periods[item.place] := item.period;
        -- Alerts follow the budget that is in use. It seldom changes.
        IF (CASE WHEN item.period IS NULL THEN item.budget END) IS DISTINCT FROM item.known_budget THEN
          UPDATE {schema}.balances SET budget = CASE WHEN item.period IS NULL THEN item.budget END
            WHERE caller = item.caller;
        END IF;
      END IF;
    END LOOP;
    FOR item IN
      WITH made AS (
        INSERT INTO {schema}.holds (id, caller, amount, expires_at, hold, owner, period)
          SELECT i.id, i.caller, i.amount, instant + i.ttl_ms * interval '1 millisecond',
              {schema}.with_field(i.hold, 'periodKey', periods[i.place])::json, p_owner, periods[i.place]
            FROM unnest(p_ids, p_callers, p_amounts, p_ttl_ms, p_holds)
              WITH ORDINALITY AS i (id, caller, amount, ttl_ms, hold, place)
            WHERE granted[i.place]
          ON CONFLICT DO NOTHING
          RETURNING caller, amount, period
      ), change AS (
        SELECT caller, sum(amount) AS held FROM made GROUP BY caller HAVING sum(amount) <> 0
      ), balanced AS (
        UPDATE {schema}.balances b SET held = trim_scale(b.held + change.held)
          FROM change WHERE b.caller = ANY (ARRAY(SELECT caller FROM change)) AND b.caller = change.caller
      )
      SELECT m.caller, m.period, coalesce(sum(m.amount), 0) AS held FROM made m WHERE m.period IS NOT NULL
        GROUP BY m.caller, m.period
    LOOP
      INSERT INTO {schema}.period_balances AS p (caller, period, held, budget)
        VALUES (item.caller, item.period, trim_scale(item.held),
          (SELECT i.budget FROM unnest(p_callers, p_budgets) AS i (caller, budget)
            WHERE i.caller = item.caller AND i.budget IS NOT NULL LIMIT 1))
        ON CONFLICT (caller, period) DO UPDATE SET held = trim_scale(p.held + excluded.held), budget = excluded.budget;
    END LOOP;
  END $$;`;

/**
 * Balances of periods, and alerts about budgets. A step of `MIGRATIONS`. The rows of periods and alerts of a caller are
 * changed only while its balance is locked. Processes of an older version call `settle`, `release` and `end_lost` as before.
 */
export const BUDGET_PERIODS = `
  -- The budget of the last hold, and the highest threshold in percent that has an alert.
  ALTER TABLE {schema}.balances ADD COLUMN budget numeric;
  ALTER TABLE {schema}.balances ADD COLUMN alerted smallint NOT NULL DEFAULT 0;

  -- The sums of a caller in one period of its budget. The rows of past periods are kept.
  CREATE TABLE {schema}.period_balances (
    caller text COLLATE "C",
    period text COLLATE "C", -- its key
    settled numeric NOT NULL DEFAULT 0,
    held numeric NOT NULL DEFAULT 0,
    budget numeric,
    alerted smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (caller, period)
  ) WITH (fillfactor = 50);

  -- The key of the period in which the hold was counted; NULL without one. The JSON of holds has it as periodKey, and the
  -- JSON of records as period.
  ALTER TABLE {schema}.holds ADD COLUMN period text COLLATE "C";
  ALTER TABLE {schema}.records ADD COLUMN period text COLLATE "C";

  -- The alerts that were not delivered.
  CREATE TABLE {schema}.budget_alerts (
    sequence bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    caller text COLLATE "C" NOT NULL,
    period text COLLATE "C" NOT NULL, -- '' for a budget over all time
    threshold smallint NOT NULL,
    budget numeric NOT NULL,
    settled numeric NOT NULL,
    created_at timestamptz NOT NULL,
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    UNIQUE (caller, period, threshold)
  );
  CREATE INDEX budget_alerts_by_time ON {schema}.budget_alerts (created_at);

  -- The key of the period of a hold, from the periods that its process sent; NULL if it has none. If the clock of the process
  -- is so wrong that none contains the time, the process gets the time in DETAIL and tries again.
  CREATE FUNCTION {schema}.choose_period(p_hold text, p_instant timestamptz) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE
    periods json := p_hold::json -> 'periods';
    chosen text;
  BEGIN
    IF periods IS NULL THEN RETURN NULL; END IF;
    SELECT p.value ->> 'key' INTO chosen FROM json_array_elements(periods) p
      WHERE to_timestamp((p.value ->> 'from')::float8 / 1000) <= p_instant
        AND to_timestamp((p.value ->> 'to')::float8 / 1000) > p_instant;
    IF chosen IS NULL THEN
      RAISE EXCEPTION USING ERRCODE = 'CP001', MESSAGE = 'The clock of the gateway is wrong by more than a budget period.',
        DETAIL = floor(extract(epoch FROM p_instant) * 1000)::bigint::text;
    END IF;
    RETURN chosen;
  END $$;

  -- Adds a field with a string to a JSON object that is not empty.
  CREATE FUNCTION {schema}.with_field(p_object text, p_name text, p_value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_value IS NULL THEN p_object
      ELSE left(p_object, -1) || ',"' || p_name || '":' || to_json(p_value)::text || '}' END
  $$;

  -- Writes the alerts of a balance whose charges have grown. Returns whether there is one.
  CREATE FUNCTION {schema}.note_alerts(
    p_caller text, p_period text, p_settled numeric, p_budget numeric, p_alerted smallint, p_now_ms float8
  ) RETURNS boolean LANGUAGE plpgsql {settings} AS $$
  DECLARE
    reached smallint;
  BEGIN
    INSERT INTO {schema}.budget_alerts (caller, period, threshold, budget, settled, created_at)
      SELECT p_caller, coalesce(p_period, ''), t.threshold, p_budget, p_settled,
          coalesce(to_timestamp(p_now_ms / 1000), clock_timestamp())
        FROM (VALUES (50), (80), (100)) AS t (threshold)
        WHERE t.threshold > p_alerted AND p_settled * 100 >= p_budget * t.threshold
        ORDER BY t.threshold
      ON CONFLICT DO NOTHING;
    SELECT max(t.threshold) INTO reached FROM (VALUES (50), (80), (100)) AS t (threshold)
      WHERE t.threshold > p_alerted AND p_settled * 100 >= p_budget * t.threshold;
    IF reached IS NULL THEN RETURN false; END IF;
    IF p_period IS NULL THEN
      UPDATE {schema}.balances SET alerted = reached WHERE caller = p_caller;
    ELSE
      UPDATE {schema}.period_balances SET alerted = reached WHERE caller = p_caller AND period = p_period;
    END IF;
    RETURN true;
  END $$;

  -- Changes the balance of a period, and writes its alerts. Returns whether there is one.
  CREATE FUNCTION {schema}.change_period(
    p_caller text, p_period text, p_settled numeric, p_held numeric, p_now_ms float8
  ) RETURNS boolean LANGUAGE plpgsql {settings} AS $$
  DECLARE
    now_settled numeric;
    now_budget numeric;
    now_alerted smallint;
  BEGIN
    UPDATE {schema}.period_balances p
      SET settled = trim_scale(p.settled + p_settled), held = trim_scale(p.held + p_held)
      WHERE p.caller = p_caller AND p.period = p_period
      RETURNING p.settled, p.budget, p.alerted INTO now_settled, now_budget, now_alerted;
    IF p_settled <= 0 OR now_alerted >= 100 OR now_budget = 0 OR now_settled * 2 < now_budget THEN RETURN false; END IF;
    RETURN {schema}.note_alerts(p_caller, p_period, now_settled, now_budget, now_alerted, p_now_ms);
  END $$;

  -- As before, but a hold counts in its period too.
  ${writeMakeHolds("{schema}.find_records(p_ids)")}

  -- Removes unresolved and released records, which settled ones are about to replace, and returns their periods. The
  -- balances are locked. Replaces remove_unsettled.
  CREATE FUNCTION {schema}.replace_unsettled(p_ids text[], OUT gone text[], OUT gone_periods text[])
  LANGUAGE plpgsql {settings} AS $$
  DECLARE
    item record;
  BEGIN
    gone := '{}';
    gone_periods := '{}';
    IF NOT EXISTS (SELECT FROM {schema}.records WHERE id = ANY (p_ids) AND state <> 'settled') THEN RETURN; END IF;
    FOR item IN
      DELETE FROM {schema}.records WHERE id = ANY (p_ids) AND state <> 'settled' RETURNING id, caller, charge, period
    LOOP
      gone := gone || item.id;
      gone_periods := gone_periods || item.period;
      UPDATE {schema}.balances b SET settled = trim_scale(b.settled - coalesce(item.charge, 0))
        WHERE b.caller = item.caller;
      IF item.period IS NOT NULL THEN
        PERFORM {schema}.change_period(item.caller, item.period, -coalesce(item.charge, 0), 0, NULL);
      END IF;
    END LOOP;
  END $$;

  -- Ends holds and stores their records. A record replaces an unresolved or released one of the same id, but not a settled
  -- one. A record counts in the period of its hold. Returns whether an alert was written.
  CREATE FUNCTION {schema}.settle_records(
    p_ids text[], p_time_ms float8[], p_callers text[], p_models text[], p_channels text[], p_images bigint[],
    p_charges numeric[], p_records text[], p_now_ms float8
  ) RETURNS boolean LANGUAGE plpgsql {settings} AS $$
  DECLARE
    before record;
    item record;
    has_alert boolean := false;
  BEGIN
    PERFORM {schema}.lock_balances(p_callers);
    before := {schema}.replace_unsettled(p_ids);
    FOR item IN
      WITH kept AS (
        INSERT INTO {schema}.records (id, state, time, caller, model, channel, images, charge, period, record)
          SELECT i.id, 'settled', to_timestamp(i.time_ms / 1000), i.caller, i.model, i.channel, i.images, i.charge,
              c.period, {schema}.with_field(i.record, 'period', c.period)::json
            FROM unnest(p_ids, p_time_ms, p_callers, p_models, p_channels, p_images, p_charges, p_records)
              WITH ORDINALITY AS i (id, time_ms, caller, model, channel, images, charge, record, place)
            CROSS JOIN LATERAL (
              SELECT coalesce((SELECT h.period FROM {schema}.holds h WHERE h.id = i.id OFFSET 0),
                before.gone_periods[array_position(before.gone, i.id)]) AS period OFFSET 0
            ) c
            ORDER BY i.place
          ON CONFLICT DO NOTHING
          RETURNING id, caller, charge, period
      ), queued AS (
        INSERT INTO {schema}.outbox AS o (id, state) SELECT id, 'settled' FROM kept
          ON CONFLICT (id) DO UPDATE
            SET sequence = excluded.sequence, state = excluded.state, leased_until = excluded.leased_until
      ), ended AS (
        DELETE FROM {schema}.holds WHERE id = ANY (p_ids) RETURNING caller, amount, period
      ), part AS (
        SELECT caller, period, charge AS settled, 0 AS held FROM kept
        UNION ALL SELECT caller, period, 0, amount FROM ended
      ), change AS (
        SELECT caller, coalesce(sum(settled), 0) AS settled, coalesce(sum(held), 0) AS held FROM part GROUP BY caller
      ), balanced AS (
        UPDATE {schema}.balances b
          SET settled = trim_scale(b.settled + change.settled), held = trim_scale(b.held - change.held)
          FROM change WHERE b.caller = ANY (ARRAY(SELECT caller FROM change)) AND b.caller = change.caller
            AND (change.settled <> 0 OR change.held <> 0)
          RETURNING b.caller, b.settled, b.budget, b.alerted, change.settled AS added
      )
      SELECT b.caller, NULL AS period, b.settled, 0 AS held, b.budget, b.alerted FROM balanced b
        WHERE b.added > 0 AND b.budget > 0 AND b.alerted < 100 AND b.settled * 2 >= b.budget
      UNION ALL
      SELECT p.caller, p.period, coalesce(sum(p.settled), 0), coalesce(sum(p.held), 0), NULL, NULL FROM part p
        WHERE p.period IS NOT NULL GROUP BY p.caller, p.period
    LOOP
      IF item.period IS NOT NULL THEN
        has_alert := {schema}.change_period(item.caller, item.period, item.settled, -item.held, p_now_ms) OR has_alert;
      ELSE
        has_alert :=
          {schema}.note_alerts(item.caller, NULL, item.settled, item.budget, item.alerted, p_now_ms) OR has_alert;
      END IF;
    END LOOP;
    RETURN has_alert;
  END $$;

  CREATE OR REPLACE FUNCTION {schema}.settle(
    p_ids text[], p_time_ms float8[], p_callers text[], p_models text[], p_channels text[], p_images bigint[],
    p_charges numeric[], p_records text[]
  ) RETURNS void LANGUAGE plpgsql {settings} AS $$
  BEGIN
    PERFORM {schema}.settle_records(p_ids, p_time_ms, p_callers, p_models, p_channels, p_images, p_charges, p_records,
      NULL);
  END $$;

  DROP FUNCTION {schema}.remove_unsettled;

  -- As before, with periods.
  CREATE OR REPLACE FUNCTION {schema}.release(p_ids text[]) RETURNS void LANGUAGE plpgsql {settings} AS $$
  DECLARE
    item record;
  BEGIN
    PERFORM {schema}.lock_balances(ARRAY(
      SELECT caller FROM {schema}.holds WHERE id = ANY (p_ids)
      UNION ALL SELECT caller FROM {schema}.records WHERE id = ANY (p_ids) AND state = 'unresolved'));
    FOR item IN
      WITH ended AS (
        DELETE FROM {schema}.holds WHERE id = ANY (p_ids) RETURNING caller, amount, period
      ), corrected AS (
        UPDATE {schema}.records r
          SET state = 'released', charge = CASE WHEN r.charge IS NOT NULL THEN 0 END,
            record = (r.record::jsonb
              || jsonb_build_object('state', 'released', 'charge', CASE WHEN r.charge IS NOT NULL THEN '0' END))::json
          FROM (SELECT id, charge FROM {schema}.records WHERE id = ANY (p_ids) AND state = 'unresolved') before
          WHERE r.id = before.id AND r.state = 'unresolved'
          RETURNING r.id, r.caller, before.charge, r.period
      ), queued AS (
        INSERT INTO {schema}.outbox AS o (id, state) SELECT id, 'released' FROM corrected
          ON CONFLICT (id) DO UPDATE
            SET sequence = excluded.sequence, state = excluded.state, leased_until = excluded.leased_until
      ), part AS (
        SELECT caller, period, charge AS settled, 0 AS held FROM corrected
        UNION ALL SELECT caller, period, 0, amount FROM ended
      ), change AS (
        SELECT caller, coalesce(sum(settled), 0) AS settled, coalesce(sum(held), 0) AS held FROM part GROUP BY caller
      ), balanced AS (
        UPDATE {schema}.balances b
          SET settled = trim_scale(b.settled - change.settled), held = trim_scale(b.held - change.held)
          FROM change WHERE b.caller = change.caller AND (change.settled <> 0 OR change.held <> 0)
      )
      SELECT p.caller, p.period, coalesce(sum(p.settled), 0) AS settled, coalesce(sum(p.held), 0) AS held FROM part p
        WHERE p.period IS NOT NULL GROUP BY p.caller, p.period
    LOOP
      PERFORM {schema}.change_period(item.caller, item.period, -item.settled, -item.held, NULL);
    END LOOP;
  END $$;

  -- As before, with periods and alerts.
  CREATE OR REPLACE FUNCTION {schema}.end_lost(
    p_ids text[], p_holds text[], p_time_ms float8[], p_callers text[], p_models text[], p_charges numeric[],
    p_records text[]
  ) RETURNS SETOF text LANGUAGE plpgsql {settings} AS $$
  DECLARE
    item record;
  BEGIN
    PERFORM {schema}.lock_balances(p_callers);
    FOR item IN
      WITH input AS MATERIALIZED (
        SELECT * FROM unnest(p_ids, p_holds, p_time_ms, p_callers, p_models, p_charges, p_records)
          WITH ORDINALITY AS i (id, hold, time_ms, caller, model, charge, record, place)
      ), ended AS (
        -- Compared by content, because a new hold may have the same id by now.
        DELETE FROM {schema}.holds h USING input i WHERE h.id = i.id AND h.hold::text = i.hold
          RETURNING h.id, h.caller, h.amount, h.period
      ), kept AS (
        INSERT INTO {schema}.records (id, state, time, caller, model, channel, images, charge, period, record)
          SELECT i.id, 'unresolved', to_timestamp(i.time_ms / 1000), i.caller, i.model, '', 0, i.charge, e.period,
              i.record::json
            FROM input i JOIN ended e ON e.id = i.id
            ORDER BY i.place
          ON CONFLICT DO NOTHING
          RETURNING id, caller, charge, period
      ), queued AS (
        INSERT INTO {schema}.outbox AS o (id, state) SELECT id, 'unresolved' FROM kept
          ON CONFLICT (id) DO UPDATE
            SET sequence = excluded.sequence, state = excluded.state, leased_until = excluded.leased_until
      ), part AS (
        SELECT caller, period, charge AS settled, 0 AS held FROM kept
        UNION ALL SELECT caller, period, 0, amount FROM ended
      ), change AS (
        SELECT caller, coalesce(sum(settled), 0) AS settled, coalesce(sum(held), 0) AS held FROM part GROUP BY caller
      ), balanced AS (
        UPDATE {schema}.balances b
          SET settled = trim_scale(b.settled + change.settled), held = trim_scale(b.held - change.held)
          FROM change WHERE b.caller = change.caller
          RETURNING b.caller, b.settled, b.budget, b.alerted, change.settled AS added
      )
      SELECT k.id, NULL AS caller, NULL AS period, 0 AS settled, 0 AS held, NULL::numeric AS budget, NULL::smallint AS alerted
        FROM kept k
      UNION ALL
      SELECT NULL, b.caller, NULL, b.settled, 0, b.budget, b.alerted FROM balanced b
        WHERE b.added > 0 AND b.budget > 0 AND b.alerted < 100 AND b.settled * 2 >= b.budget
      UNION ALL
      SELECT NULL, p.caller, p.period, coalesce(sum(p.settled), 0), coalesce(sum(p.held), 0), NULL, NULL FROM part p
        WHERE p.period IS NOT NULL GROUP BY p.caller, p.period
    LOOP
      IF item.id IS NOT NULL THEN
        RETURN NEXT item.id;
      ELSIF item.period IS NOT NULL THEN
        PERFORM {schema}.change_period(item.caller, item.period, item.settled, -item.held, NULL);
      ELSE
        PERFORM {schema}.note_alerts(item.caller, NULL, item.settled, item.budget, item.alerted, NULL);
      END IF;
    END LOOP;
  END $$;

  -- The plans of these functions are kept: each of their statements can be done in one way only.
  ALTER FUNCTION {schema}.note_alerts SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.change_period SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.make_holds SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.settle_records SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.settle SET plan_cache_mode = force_generic_plan;
`;
