import { COST_SUMS, SETTLE_PARAMETERS, writeSettlement } from "./hourly-totals.js";
import { RECORD_WITH_LATE } from "./late-records.js";

/** As in `costs.ts`. Most records begin otherwise, and a search in the whole record takes longer than to look at its beginning. */
const COST = String.raw`CASE WHEN starts_with(i.record, '{"cost":"') THEN substring(left(i.record, 100) from '^\{"cost":"([0-9.]+)"')::numeric END`;

/**
 * Entries of the outbox have the time of their record, so a delivery looks in one month only. Settlements and holds do with fewer
 * statements and plans. A step of `MIGRATIONS`.
 */
export const RECORD_TIMES = `
  -- Requests wait for this lock, too.
  SET LOCAL lock_timeout = '1s';
  -- The time of the record. NULL if a function of an older step wrote the entry: then the record is searched by its id alone.
  ALTER TABLE {schema}.outbox_entries ADD COLUMN record_time timestamptz;

  -- Entries with a time are written only after their function has looked for a reader.
  DROP TRIGGER keep_read_entry ON {schema}.outbox_entries;
  CREATE TRIGGER keep_read_entry BEFORE INSERT ON {schema}.outbox_entries FOR EACH ROW
    WHEN (NEW.endpoint IS NULL AND NEW.record_time IS NULL) EXECUTE FUNCTION {schema}.keep_read_entry();

  -- As before, but holds and readers are looked up once for all records, and entries have the time of their record.
  CREATE OR REPLACE FUNCTION {schema}.settle_calls(
    ${SETTLE_PARAMETERS}, OUT has_alert boolean, OUT late text[]
  ) LANGUAGE plpgsql {settings} AS $$
  DECLARE
    before record;
    item record;
    periods text[]; -- of the holds
    unheld text[];
    is_read boolean;
  BEGIN
    has_alert := false;
    ${writeSettlement({
      record: RECORD_WITH_LATE,
      cost: { column: "cost", value: COST, sums: COST_SUMS },
      // An id with a hold has no record, see find_unheld.
      before: `SELECT array_agg(h.period ORDER BY i.place), array_agg(i.id) FILTER (WHERE h.id IS NULL) INTO periods, unheld
      FROM unnest(p_ids) WITH ORDINALITY AS i (id, place)
      LEFT JOIN LATERAL (SELECT id, period FROM {schema}.holds WHERE id = i.id OFFSET 0) h ON true;
    IF unheld IS NULL THEN
      SELECT '{}'::text[] AS gone, '{}'::text[] AS gone_periods INTO before;
    ELSE
      before := {schema}.replace_unsettled_in_months(unheld);
    END IF;
    is_read := EXISTS (SELECT FROM {schema}.outbox_readers r
      WHERE r.kind = 'record' AND r.seen_at > clock_timestamp() - interval '30 days');`,
      period: "i.period",
      more: [", periods", ", period"],
      // An entry that waits is replaced also without a reader, because only the present version can be delivered.
      queued: `INSERT INTO {schema}.outbox_entries AS o (record, state, record_time)
          SELECT k.id, 'settled', k.time FROM kept k
            WHERE is_read OR k.id = ANY (before.gone) AND EXISTS (SELECT FROM {schema}.outbox_entries e WHERE e.record = k.id)
          ON CONFLICT (record) DO UPDATE
            SET sequence = excluded.sequence, state = excluded.state, due_at = excluded.due_at, record_time = excluded.record_time`,
    })}
    late := before.gone;
  END $$;
  ALTER FUNCTION {schema}.settle_calls SET plan_cache_mode = force_generic_plan;

  -- Leases the oldest entries of records behind a place, each with its record. The record is NULL if it is not in the month of the
  -- entry's time. Skips entries that another process is leasing. The plan is kept: records_by_time is the only index in the order of
  -- the time, so it is used even if the last ANALYZE saw few records.
  CREATE FUNCTION {schema}.lease_records(p_limit bigint, p_lease_ms float8, p_behind bigint, p_now_ms float8)
  RETURNS TABLE (sequence bigint, id text, record json) LANGUAGE plpgsql {settings} AS $$
  DECLARE
    instant timestamptz := coalesce(to_timestamp(p_now_ms / 1000), clock_timestamp());
  BEGIN
    RETURN QUERY
      WITH due AS (
        SELECT e.sequence FROM {schema}.outbox_entries e WHERE e.record IS NOT NULL AND e.due_at <= instant AND e.sequence > p_behind
          ORDER BY e.sequence LIMIT p_limit FOR UPDATE SKIP LOCKED
      ), leased AS (
        UPDATE {schema}.outbox_entries e SET due_at = instant + p_lease_ms * interval '1 millisecond'
          FROM due WHERE e.sequence = due.sequence RETURNING e.sequence, e.record, e.state, e.record_time
      )
      SELECT l.sequence, l.record, f.record FROM leased l LEFT JOIN LATERAL (
          SELECT r.record FROM {schema}.records r
            WHERE r.id = l.record AND r.time >= l.record_time AND r.time <= l.record_time AND r.state = l.state ORDER BY r.time LIMIT 1
        ) f ON true
        ORDER BY l.sequence;
  END $$;
  ALTER FUNCTION {schema}.lease_records SET plan_cache_mode = force_generic_plan;

  -- As before, but each record is searched as in lease_records, so the plan is kept.
  CREATE OR REPLACE FUNCTION {schema}.find_recorded(p_ids text[], p_holds text[]) RETURNS text[] LANGUAGE plpgsql {settings} AS $$
  DECLARE
    times timestamptz[] := ARRAY(SELECT (h.hold::json ->> 'time')::timestamptz FROM unnest(p_holds) WITH ORDINALITY AS h (hold, place)
      ORDER BY h.place);
    first timestamptz := (SELECT min(t) FROM unnest(times) AS t);
    last timestamptz := (SELECT max(t) FROM unnest(times) AS t);
  BEGIN
    RETURN ARRAY(
      SELECT f.id FROM unnest(p_ids, times) AS i (id, time) CROSS JOIN LATERAL (
        SELECT r.id FROM {schema}.records r
          WHERE r.id = i.id AND r.time >= i.time AND r.time <= i.time AND r.time >= first AND r.time <= last ORDER BY r.time LIMIT 1
      ) f);
  END $$;
  ALTER FUNCTION {schema}.find_recorded SET plan_cache_mode = force_generic_plan;

  -- It calls functions that are only stable. PostgreSQL puts it into the statements that call it only if it says so itself.
  ALTER FUNCTION {schema}.with_field STABLE;

  -- As before, but a hold without periods is not parsed.
  CREATE OR REPLACE FUNCTION {schema}.choose_period(p_hold text, p_instant timestamptz) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE
    periods json;
    chosen text;
  BEGIN
    IF strpos(p_hold, '"periods"') = 0 THEN RETURN NULL; END IF;
    periods := p_hold::json -> 'periods';
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
`;
