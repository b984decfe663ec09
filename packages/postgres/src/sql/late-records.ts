import { RECORD_WITH_PERIOD, SETTLE_PARAMETERS, writeSettlement } from "./hourly-totals.js";

/** The record, marked if a sweep had ended its hold. */
export const RECORD_WITH_LATE = `(CASE WHEN array_position(before.gone, i.id) IS NULL THEN ${RECORD_WITH_PERIOD}
  ELSE left(${RECORD_WITH_PERIOD}, -1) || ',"late":true}' END)`;

/**
 * Marks the records of requests whose hold a sweep had ended before they were settled. A step of `MIGRATIONS`. Processes of an
 * older version call `settle_usage`.
 */
export const LATE_RECORDS = `
  -- As settle_usage before. Returns also the ids of the records that were late.
  CREATE FUNCTION {schema}.settle_calls(
    ${SETTLE_PARAMETERS}, OUT has_alert boolean, OUT late text[]
  ) LANGUAGE plpgsql {settings} AS $$
  DECLARE
    before record;
    item record;
  BEGIN
    has_alert := false;
    ${writeSettlement({ record: RECORD_WITH_LATE })}
    late := before.gone;
  END $$;

  CREATE OR REPLACE FUNCTION {schema}.settle_usage(
    ${SETTLE_PARAMETERS}
  ) RETURNS boolean LANGUAGE plpgsql {settings} AS $$
  BEGIN
    RETURN (SELECT s.has_alert FROM {schema}.settle_calls(p_ids, p_time_ms, p_callers, p_models, p_channels, p_images,
      p_charges, p_records, p_now_ms, p_outcomes, p_durations, p_tokens) s);
  END $$;

  ALTER FUNCTION {schema}.settle_calls SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.settle_usage SET plan_cache_mode = force_generic_plan;
  `;
