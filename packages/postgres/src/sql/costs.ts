import { COST_SUMS, SETTLE_PARAMETERS, writeSettlement } from "./hourly-totals.js";
import { RECORD_WITH_LATE } from "./late-records.js";

/** The cost of the record i: `writeRecord` writes it first, so that the JSON need not be parsed. NULL if it is not known. */
const COST = String.raw`substring(i.record from '^\{"cost":"([0-9.]+)"')::numeric`;

/** What requests cost the operator. A step of `MIGRATIONS`. Processes of an older version settle records without a cost. */
export const COSTS = `
  -- NULL if it is not known.
  ALTER TABLE {schema}.records ADD COLUMN cost numeric;

  -- How many of the requests have a known cost, and the sums of these.
  ALTER TABLE {schema}.hourly_totals ADD COLUMN costed bigint NOT NULL DEFAULT 0;
  ALTER TABLE {schema}.hourly_totals ADD COLUMN cost numeric NOT NULL DEFAULT 0;
  ALTER TABLE {schema}.hourly_totals ADD COLUMN costed_charge numeric NOT NULL DEFAULT 0;

  -- As before, and keeps and counts the costs of the records.
  CREATE OR REPLACE FUNCTION {schema}.settle_calls(
    ${SETTLE_PARAMETERS}, OUT has_alert boolean, OUT late text[]
  ) LANGUAGE plpgsql {settings} AS $$
  DECLARE
    before record;
    item record;
  BEGIN
    has_alert := false;
    ${writeSettlement({ record: RECORD_WITH_LATE, cost: { column: "cost", value: COST, sums: COST_SUMS } })}
    late := before.gone;
  END $$;

  ALTER FUNCTION {schema}.settle_calls SET plan_cache_mode = force_generic_plan;
  `;
