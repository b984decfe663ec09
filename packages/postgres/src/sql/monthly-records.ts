import { writeMakeHolds } from "./budget-periods.js";

/** A literal in SQL. A name of a schema has no `$`, but may have quotes. */
export const literal = (sql: string): string => `$name$${sql}$name$`;

/** The indexes of the records that change their names, because those of the partitioned table have them. */
const INDEXES = [
  "records_by_time",
  "records_by_caller",
  "records_by_model",
  "records_by_channel",
  "records_not_counted",
  "records_without_success",
];

/**
 * The key of the partitions, which also answers totals. `CONCURRENTLY` is for a large table, before this step: see
 * `prepare-records.ts`.
 */
export const writeKey = (table: string, concurrently = ""): string =>
  `CREATE UNIQUE INDEX ${concurrently} records_key ON {schema}.${table} (time, id)
    INCLUDE (caller, model, channel, images, charge, state, cost)`;

/**
 * Drops the first partition whose records are all older, unless a record of it is not counted or not delivered. It looks again when
 * nothing can be written any more: a sweep may have ended an old hold meanwhile.
 */
export const DROP_MONTH = `
  -- Returns the name of the dropped partition, or NULL if there is none. Writers wait for half a second at most.
  CREATE OR REPLACE FUNCTION {schema}.drop_month(p_before timestamptz) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp SET lock_timeout = '500ms' SET enable_hashjoin = off SET enable_mergejoin = off AS $$
  DECLARE
    item record;
    is_needed text;
    is_kept boolean;
  BEGIN
    DELETE FROM {schema}.records_rest r WHERE r.time < p_before AND r.outcome IS NOT NULL
      AND NOT EXISTS (SELECT FROM {schema}.outbox_entries e WHERE e.record = r.id);
    FOR item IN SELECT l.name FROM {schema}.list_months() l WHERE l.ends_at <= p_before ORDER BY l.ends_at LOOP
      is_needed := ${literal("SELECT EXISTS (SELECT FROM {schema}.")} || item.name || ' r WHERE r.outcome IS NULL)'
        || ${literal(" OR EXISTS (SELECT FROM {schema}.outbox_entries e WHERE e.record IS NOT NULL AND EXISTS (SELECT FROM {schema}.")}
        || item.name || ' r WHERE r.id = e.record))';
      EXECUTE is_needed INTO is_kept;
      CONTINUE WHEN is_kept;
      LOCK TABLE {schema}.records IN ACCESS EXCLUSIVE MODE;
      EXECUTE is_needed INTO is_kept;
      CONTINUE WHEN is_kept;
      EXECUTE ${literal("DROP TABLE {schema}.")} || item.name;
      RETURN item.name;
    END LOOP;
    RETURN NULL;
  END $$;
`;

/**
 * A partition of the records for each month. A step of `MIGRATIONS`. The records that exist become one partition, without being
 * written again. A record has the time of its hold, so a repeated settlement meets the same row.
 */
export const MONTHLY_RECORDS = `
  -- Requests wait for this lock, too.
  SET LOCAL lock_timeout = '1s';
  LOCK TABLE {schema}.records IN ACCESS EXCLUSIVE MODE;

  -- The table of the records so far is named after its end, as its CHECK is.
  DO $do$
  DECLARE
    records regclass := to_regclass(${literal("{schema}.records")});
    ending text := (SELECT right(conname, 8) FROM pg_constraint WHERE conrelid = records AND conname LIKE 'records\\_until\\_%');
    month timestamp := date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC');
    newest timestamp := (SELECT max(time) AT TIME ZONE 'UTC' FROM {schema}.records);
    old_name text;
    item record;
  BEGIN
    ending := coalesce(ending, to_char(CASE WHEN newest IS NULL THEN month
      ELSE greatest(month, date_trunc('month', newest)) + interval '1 month' END, 'YYYYMMDD'));
    old_name := 'records_until_' || ending;
    IF to_regclass(${literal("{schema}.records_key")}) IS NULL THEN
      ${writeKey("records")};
    END IF;
    DROP INDEX {schema}.records_by_time;
    ALTER INDEX {schema}.records_key RENAME TO records_by_time;
    FOR item IN SELECT unnest('{${INDEXES.join(",")}}'::text[]) AS name LOOP
      EXECUTE ${literal("ALTER INDEX {schema}.")} || item.name || ' RENAME TO ' || replace(item.name, 'records', old_name);
    END LOOP;
    EXECUTE ${literal("ALTER TABLE {schema}.records RENAME TO ")} || old_name;

    EXECUTE ${literal("CREATE TABLE {schema}.records (LIKE {schema}.")} || old_name
      || ' INCLUDING DEFAULTS) PARTITION BY RANGE (time)';
    CREATE UNIQUE INDEX records_by_time ON {schema}.records (time, id)
      INCLUDE (caller, model, channel, images, charge, state, cost);
    CREATE INDEX records_by_caller ON {schema}.records (caller, time, id);
    CREATE INDEX records_by_model ON {schema}.records (model, time, id);
    CREATE INDEX records_by_channel ON {schema}.records (channel, time, id);
    CREATE INDEX records_not_counted ON {schema}.records (time) WHERE outcome IS NULL;
    CREATE INDEX records_without_success ON {schema}.records (time, id) WHERE outcome <> 'succeeded';
    EXECUTE ${literal("ALTER TABLE {schema}.records ATTACH PARTITION {schema}.")} || old_name
      || ' FOR VALUES FROM (MINVALUE) TO (''' || (ending::date)::text || ' 00:00:00+00'')';
    -- It was needed for the partition only.
    EXECUTE ${literal("ALTER TABLE {schema}.")} || old_name || ' DROP CONSTRAINT IF EXISTS records_until_' || ending;

    -- Users who may read and write the records may go on, also those of processes that run.
    FOR item IN
      SELECT g.privilege_type, CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END AS name
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) g WHERE c.oid = records AND g.grantee <> c.relowner
    LOOP
      EXECUTE 'GRANT ' || item.privilege_type || ${literal(" ON {schema}.records, {schema}.outbox_readers TO ")} || item.name;
    END LOOP;
  END $do$;

  -- What no month has: the clock of a gateway was wrong, or no sweep made the month in time.
  CREATE TABLE {schema}.records_rest PARTITION OF {schema}.records DEFAULT;
  CREATE UNIQUE INDEX records_rest_by_id ON {schema}.records_rest (id);

  -- The partitions with their ends, without the rest.
  CREATE FUNCTION {schema}.list_months() RETURNS TABLE (name text, ends_at timestamptz) LANGUAGE sql STABLE AS $$
    SELECT c.relname::text,
        CASE WHEN c.relname LIKE 'records\\_until\\_%' THEN to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp AT TIME ZONE 'UTC'
          ELSE (to_date(right(c.relname, 6), 'YYYYMM')::timestamp + interval '1 month') AT TIME ZONE 'UTC' END
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = to_regclass(${literal("{schema}.records")}) AND c.relname <> 'records_rest'
  $$;

  -- Makes the partition of the first month that is missing, up to two months ahead. Returns its name, or NULL if none is missing.
  -- Writers wait only for the records that the month gets from the rest, and for half a second at most. The owner of the tables
  -- makes it, also if the gateway's user may not.
  CREATE FUNCTION {schema}.make_month(p_now_ms float8) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp SET lock_timeout = '500ms' AS $$
  DECLARE
    begin_at timestamp := date_trunc('month', coalesce(to_timestamp(p_now_ms / 1000), clock_timestamp()) AT TIME ZONE 'UTC');
    end_at timestamp;
    month text;
  BEGIN
    month := (SELECT to_char(m, 'YYYYMM') FROM generate_series(begin_at, begin_at + interval '2 months', interval '1 month') AS m
      WHERE m >= coalesce((SELECT max(l.ends_at) AT TIME ZONE 'UTC' FROM {schema}.list_months() l WHERE l.name LIKE 'records\\_until\\_%'), m)
        AND NOT EXISTS (SELECT FROM {schema}.list_months() l WHERE l.name = 'records_' || to_char(m, 'YYYYMM'))
      ORDER BY m LIMIT 1);
    -- Another process may be making it.
    IF month IS NULL OR NOT pg_try_advisory_xact_lock(hashtextextended('{channel}', 86)) THEN RETURN NULL; END IF;
    begin_at := to_date(month, 'YYYYMM');
    end_at := begin_at + interval '1 month';
    EXECUTE ${literal("CREATE TABLE {schema}.records_")} || month || ${literal(" (LIKE {schema}.records INCLUDING DEFAULTS)")};
    EXECUTE 'CREATE UNIQUE INDEX records_' || month || ${literal("_by_id ON {schema}.records_")} || month || ' (id)';
    LOCK TABLE {schema}.records_rest IN ACCESS EXCLUSIVE MODE;
    EXECUTE ${literal("WITH moved AS (DELETE FROM {schema}.records_rest WHERE time >= $1 AND time < $2 RETURNING *) INSERT INTO {schema}.records_")}
      || month || ' SELECT * FROM moved' USING begin_at AT TIME ZONE 'UTC', end_at AT TIME ZONE 'UTC';
    EXECUTE ${literal("ALTER TABLE {schema}.records ATTACH PARTITION {schema}.records_")} || month
      || ' FOR VALUES FROM (''' || begin_at::text || '+00'') TO (''' || end_at::text || '+00'')';
    RETURN 'records_' || month;
  END $$;

  ${DROP_MONTH}
  -- Returns those of the ids that have a record of the time of their hold. Each is searched by its key, in the months of the holds.
  CREATE FUNCTION {schema}.find_recorded(p_ids text[], p_holds text[]) RETURNS text[] LANGUAGE plpgsql {settings} AS $$
  DECLARE
    times timestamptz[] := ARRAY(SELECT (h.hold::json ->> 'time')::timestamptz FROM unnest(p_holds) WITH ORDINALITY AS h (hold, place)
      ORDER BY h.place);
    first timestamptz := (SELECT min(t) FROM unnest(times) AS t);
    last timestamptz := (SELECT max(t) FROM unnest(times) AS t);
  BEGIN
    RETURN ARRAY(
      SELECT f.id FROM unnest(p_ids, times) AS i (id, time) CROSS JOIN LATERAL (
        SELECT r.id FROM {schema}.records r
          WHERE r.id = i.id AND r.time = i.time AND r.time >= first AND r.time <= last OFFSET 0
      ) f);
  END $$;

  -- As before, but a record is searched by the time of the hold, too.
  ${writeMakeHolds("{schema}.find_recorded(p_ids, p_holds)")}
  ALTER FUNCTION {schema}.make_holds SET plan_cache_mode = force_generic_plan;

  -- Returns those of the ids that have no hold. An id with a hold has no record: a record is written in the transaction that ends
  -- the hold, and a hold is not made if there is a record.
  CREATE FUNCTION {schema}.find_unheld(p_ids text[]) RETURNS text[] LANGUAGE plpgsql {settings} AS $$
  BEGIN
    RETURN ARRAY(SELECT i.id FROM unnest(p_ids) AS i (id)
      WHERE NOT EXISTS (SELECT FROM {schema}.holds h WHERE h.id = i.id OFFSET 0));
  END $$;
  ALTER FUNCTION {schema}.find_unheld SET plan_cache_mode = force_generic_plan;

  -- As before, but the months are searched only for ids without a hold, by their ids alone.
  ALTER FUNCTION {schema}.replace_unsettled(text[]) RENAME TO replace_unsettled_in_months;
  CREATE FUNCTION {schema}.replace_unsettled(p_ids text[], OUT gone text[], OUT gone_periods text[])
  LANGUAGE plpgsql {settings} AS $$
  DECLARE
    unheld text[] := {schema}.find_unheld(p_ids);
  BEGIN
    gone := '{}';
    gone_periods := '{}';
    IF cardinality(unheld) > 0 THEN
      SELECT f.gone, f.gone_periods INTO gone, gone_periods FROM {schema}.replace_unsettled_in_months(unheld) f;
    END IF;
  END $$;
  ALTER FUNCTION {schema}.replace_unsettled SET plan_cache_mode = force_generic_plan;

  ALTER FUNCTION {schema}.release(text[]) RENAME TO release_in_months;
  CREATE FUNCTION {schema}.release(p_ids text[]) RETURNS void LANGUAGE plpgsql {settings} AS $$
  DECLARE
    item record;
  BEGIN
    IF cardinality({schema}.find_unheld(p_ids)) > 0 THEN
      PERFORM {schema}.release_in_months(p_ids);
      RETURN;
    END IF;
    PERFORM {schema}.lock_balances(ARRAY(SELECT caller FROM {schema}.holds WHERE id = ANY (p_ids)));
    FOR item IN
      WITH ended AS (
        DELETE FROM {schema}.holds WHERE id = ANY (p_ids) RETURNING id, caller, amount, period
      ), change AS (
        SELECT caller, sum(amount) AS held FROM ended GROUP BY caller HAVING sum(amount) <> 0
      ), balanced AS (
        UPDATE {schema}.balances b SET held = trim_scale(b.held - change.held)
          FROM change WHERE b.caller = ANY (ARRAY(SELECT caller FROM change)) AND b.caller = change.caller
      )
      SELECT array_agg(e.id) AS ids, e.caller, e.period, coalesce(sum(e.amount), 0) AS held FROM ended e
        GROUP BY e.caller, e.period
    LOOP
      p_ids := ARRAY(SELECT i.id FROM unnest(p_ids) AS i (id) WHERE i.id <> ALL (item.ids));
      IF item.period IS NOT NULL THEN
        PERFORM {schema}.change_period(item.caller, item.period, 0, -item.held, NULL);
      END IF;
    END LOOP;
    -- A sweep has ended them meanwhile.
    IF cardinality(p_ids) > 0 THEN PERFORM {schema}.release_in_months(p_ids); END IF;
  END $$;
  ALTER FUNCTION {schema}.release SET plan_cache_mode = force_generic_plan;
`;
