import { DURATION_LIMITS } from "@calotype/core/stores";

/** The columns of the histogram of durations. */
export const DURATION_COLUMNS: readonly string[] = Array.from(
  { length: DURATION_LIMITS.length + 1 },
  (_, at) => `duration_${at}`,
);

/** The index of the histogram for the column `duration_ms` of a source named `c`. */
export const DURATION_INDEX = `width_bucket(c.duration_ms, '{${DURATION_LIMITS.join(",")}}'::integer[])`;

/** What is counted besides requests, with the sum of each in SQL. */
const OUTCOMES = ["refused", "failed", "unresolved", "released"];

/**
 * The sums of counted records, in the order of {@link SUM_COLUMNS}. The records are rows of a source named `c`, with the
 * column `sign`: -1 takes a record back.
 *
 * @param index {@link DURATION_INDEX}, or a column that has it: with many records it must be computed once for each
 */
export const toSums = (index: string): readonly string[] => [
  "sum(c.sign)",
  ...OUTCOMES.map((outcome) => `coalesce(sum(c.sign) FILTER (WHERE c.outcome = '${outcome}'), 0)`),
  "sum(c.sign * c.images)",
  "coalesce(sum(c.sign * c.charge), 0)",
  "coalesce(sum(c.sign * c.tokens), 0)",
  "coalesce(sum(c.sign * c.duration_ms::bigint) FILTER (WHERE c.outcome = 'succeeded'), 0)",
  ...DURATION_COLUMNS.map(
    (_, at) => `coalesce(sum(c.sign) FILTER (WHERE c.outcome = 'succeeded' AND ${index} = ${at}), 0)`,
  ),
];

/** The columns of totals that are added up. */
export const SUM_COLUMNS: readonly string[] = [
  "requests",
  ...OUTCOMES,
  "images",
  "charge",
  "tokens",
  "duration_ms",
  ...DURATION_COLUMNS,
];

/**
 * Adds records to their totals. The statement of a function whose transaction has locked the balances of the callers: so no
 * two transactions change the totals of a caller at the same time, and there is no deadlock.
 *
 * @param source the records in SQL, see {@link toSums}
 */
const toUpsert = (source: string, more: readonly (readonly [column: string, sum: string])[] = []): string => {
  const columns = [...SUM_COLUMNS, ...more.map(([column]) => column)];
  const sums = [...toSums(DURATION_INDEX), ...more.map(([, sum]) => sum)];
  return `
    INSERT INTO {schema}.hourly_totals AS t (hour, caller, model, channel, ${columns.join(", ")})
      SELECT date_trunc('hour', c.time, 'UTC'), c.caller, c.model, c.channel, ${sums.join(", ")}
        FROM ${source} c WHERE c.outcome IS NOT NULL GROUP BY 1, 2, 3, 4
      ON CONFLICT (hour, caller, model, channel) DO UPDATE SET
        ${columns.map((name) => `${name} = ${MONEY.has(name) ? `trim_scale(t.${name} + excluded.${name})` : `t.${name} + excluded.${name}`}`).join(", ")}`;
};

/** The columns of {@link SUM_COLUMNS} and {@link COST_SUMS} that are amounts. */
const MONEY: ReadonlySet<string> = new Set(["charge", "cost", "costed_charge"]);

/** The columns about costs, with the sum of each in SQL. The source has the column `cost`. */
export const COST_SUMS = [
  ["costed", "coalesce(sum(c.sign) FILTER (WHERE c.cost IS NOT NULL), 0)"],
  ["cost", "coalesce(sum(c.sign * c.cost), 0)"],
  ["costed_charge", "coalesce(sum(c.sign * c.charge) FILTER (WHERE c.cost IS NOT NULL), 0)"],
] as const;

/** The columns that {@link toUpsert} reads of a record. */
const COUNTED = "time, caller, model, channel, images, charge, outcome, duration_ms, tokens";

/** The parameters of the functions that settle. */
export const SETTLE_PARAMETERS = `p_ids text[], p_time_ms float8[], p_callers text[], p_models text[], p_channels text[], p_images bigint[],
    p_charges numeric[], p_records text[], p_now_ms float8, p_outcomes text[], p_durations integer[], p_tokens bigint[]`;

/** A record, with the period of its hold. */
export const RECORD_WITH_PERIOD = "{schema}.with_field(i.record, 'period', p.period)";

/** How the functions that settle keep the cost of a record: the column, its value, and what is counted of it. */
interface KeptCost {
  readonly column: string;
  /** Of the record i. */
  readonly value: string;
  readonly sums: typeof COST_SUMS;
}

/** The parts of the functions that settle that are not the same in all steps, in SQL. */
export interface SettlementParts {
  /** The JSON of the record i. */
  readonly record: string;
  /** Absent in the steps before records had costs. */
  readonly cost?: KeptCost;
  /** Sets `before`, after the balances were locked. */
  readonly before?: string;
  /** The period of the hold of the record i. */
  readonly period?: string;
  /** More arrays of the input, and their names in i. */
  readonly more?: readonly [arrays: string, names: string];
  /** Writes entries of the outbox for the rows of `kept`. */
  readonly queued?: string;
}

/** The body of the functions that settle: with the variables \`before\`, \`item\` and \`has_alert\`. */
export function writeSettlement({
  record,
  cost,
  before = "before := {schema}.replace_unsettled(p_ids);",
  period = "(SELECT h.period FROM {schema}.holds h WHERE h.id = i.id OFFSET 0)",
  more: [arrays, names] = ["", ""],
  queued = `INSERT INTO {schema}.outbox AS o (id, state) SELECT id, 'settled' FROM kept
          ON CONFLICT (id) DO UPDATE
            SET sequence = excluded.sequence, state = excluded.state, leased_until = excluded.leased_until`,
}: SettlementParts): string {
  const column = cost === undefined ? "" : `, ${cost.column}`;
  const value = cost === undefined ? "" : `, ${cost.value}`;
  return `
    PERFORM {schema}.lock_balances(p_callers);
    ${before}
    FOR item IN
      WITH kept AS (
        INSERT INTO {schema}.records (id, state, time, caller, model, channel, images, charge, period, record, outcome,
            duration_ms, tokens${column})
          SELECT i.id, 'settled', to_timestamp(i.time_ms / 1000), i.caller, i.model, i.channel, i.images, i.charge,
              p.period, ${record}::json, i.outcome, i.duration_ms, i.tokens${value}
            FROM unnest(p_ids, p_time_ms, p_callers, p_models, p_channels, p_images, p_charges, p_records, p_outcomes,
                p_durations, p_tokens${arrays})
              WITH ORDINALITY AS i (id, time_ms, caller, model, channel, images, charge, record, outcome, duration_ms,
                tokens${names}, place)
            CROSS JOIN LATERAL (
              SELECT coalesce(${period},
                before.gone_periods[array_position(before.gone, i.id)]) AS period OFFSET 0
            ) p
            ORDER BY i.place
          ON CONFLICT DO NOTHING
          RETURNING id, period, 1 AS sign, ${COUNTED}${column}
      ), queued AS (
        ${queued}
      ), counted AS (${toUpsert("kept", cost?.sums)}
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
  `;
}

/**
 * Totals of each hour. A step of `MIGRATIONS`. Processes of an older version call `settle`, `settle_records` and `end_tasks`
 * without what is counted. Their records have no outcome until a process of this version counts them, see `count-old.ts`.
 */
export const HOURLY_TOTALS = `
  -- What totals count of a record. NULL until it is counted.
  ALTER TABLE {schema}.records ADD COLUMN outcome text COLLATE "C";
  ALTER TABLE {schema}.records ADD COLUMN duration_ms integer; -- NULL without a known outcome
  ALTER TABLE {schema}.records ADD COLUMN tokens bigint;
  CREATE INDEX records_not_counted ON {schema}.records (time) WHERE outcome IS NULL;
  CREATE INDEX records_without_success ON {schema}.records (time, id) WHERE outcome <> 'succeeded';

  -- The totals of each hour, by the time of arrival. They stay when records are removed.
  CREATE TABLE {schema}.hourly_totals (
    hour timestamptz NOT NULL, -- its beginning
    caller text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    channel text COLLATE "C" NOT NULL, -- '' of unresolved and released records
    requests bigint NOT NULL,
    refused bigint NOT NULL,
    failed bigint NOT NULL,
    unresolved bigint NOT NULL,
    released bigint NOT NULL,
    images bigint NOT NULL,
    charge numeric NOT NULL,
    tokens bigint NOT NULL,
    duration_ms bigint NOT NULL, -- of successes
    -- How many successes took how long, see DURATION_LIMITS of @calotype/core.
    ${DURATION_COLUMNS.map((name) => `${name} integer NOT NULL,`).join(" ")}
    PRIMARY KEY (hour, caller, model, channel)
  ) WITH (fillfactor = 50);

  -- As before, and takes the records out of the totals.
  CREATE OR REPLACE FUNCTION {schema}.replace_unsettled(p_ids text[], OUT gone text[], OUT gone_periods text[])
  LANGUAGE plpgsql {settings} AS $$
  DECLARE
    item record;
  BEGIN
    gone := '{}';
    gone_periods := '{}';
    IF NOT EXISTS (SELECT FROM {schema}.records WHERE id = ANY (p_ids) AND state <> 'settled') THEN RETURN; END IF;
    FOR item IN
      WITH removed AS (
        DELETE FROM {schema}.records WHERE id = ANY (p_ids) AND state <> 'settled'
          RETURNING id, period, -1 AS sign, ${COUNTED}
      ), counted AS (${toUpsert("removed")}
      )
      SELECT id, caller, charge, period FROM removed
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

  -- As settle_records before, and counts the records.
  CREATE FUNCTION {schema}.settle_usage(
    ${SETTLE_PARAMETERS}
  ) RETURNS boolean LANGUAGE plpgsql {settings} AS $$
  DECLARE
    before record;
    item record;
    has_alert boolean := false;
  BEGIN
    ${writeSettlement({ record: RECORD_WITH_PERIOD })}
    RETURN has_alert;
  END $$;

  CREATE OR REPLACE FUNCTION {schema}.settle_records(
    p_ids text[], p_time_ms float8[], p_callers text[], p_models text[], p_channels text[], p_images bigint[],
    p_charges numeric[], p_records text[], p_now_ms float8
  ) RETURNS boolean LANGUAGE plpgsql {settings} AS $$
  BEGIN
    RETURN {schema}.settle_usage(p_ids, p_time_ms, p_callers, p_models, p_channels, p_images, p_charges, p_records,
      p_now_ms, NULL, NULL, NULL);
  END $$;

  -- As before, and counts the records.
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
            outcome = CASE WHEN r.outcome IS NOT NULL THEN 'released' END,
            record = (r.record::jsonb
              || jsonb_build_object('state', 'released', 'charge', CASE WHEN r.charge IS NOT NULL THEN '0' END))::json
          FROM (SELECT id, charge FROM {schema}.records WHERE id = ANY (p_ids) AND state = 'unresolved') before
          WHERE r.id = before.id AND r.state = 'unresolved'
          RETURNING r.id, r.time, r.caller, r.model, r.channel, r.outcome, before.charge, r.period
      ), counted AS (${toUpsert(`(
          SELECT time, caller, model, channel, 0 AS images, charge, CASE WHEN outcome IS NOT NULL THEN 'unresolved' END AS outcome,
            NULL::integer AS duration_ms, 0 AS tokens, -1 AS sign FROM corrected
          UNION ALL SELECT time, caller, model, channel, 0, 0, outcome, NULL, 0, 1 FROM corrected
        )`)}
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

  -- As before, and counts the records.
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
        INSERT INTO {schema}.records (id, state, time, caller, model, channel, images, charge, period, record, outcome, tokens)
          SELECT i.id, 'unresolved', to_timestamp(i.time_ms / 1000), i.caller, i.model, '', 0, i.charge, e.period,
              i.record::json, 'unresolved', 0
            FROM input i JOIN ended e ON e.id = i.id
            ORDER BY i.place
          ON CONFLICT DO NOTHING
          RETURNING id, period, 1 AS sign, ${COUNTED}
      ), counted AS (${toUpsert("kept")}
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

  -- Counts records of older versions, which other processes may be counting at the same time.
  CREATE FUNCTION {schema}.count_old(p_ids text[], p_outcomes text[], p_durations integer[], p_tokens bigint[])
  RETURNS void LANGUAGE plpgsql {settings} AS $$
  BEGIN
    PERFORM {schema}.lock_balances(ARRAY(SELECT DISTINCT caller FROM {schema}.records WHERE id = ANY (p_ids)));
    WITH old AS (
      UPDATE {schema}.records r SET outcome = i.outcome, duration_ms = i.duration_ms, tokens = i.tokens
        FROM unnest(p_ids, p_outcomes, p_durations, p_tokens) AS i (id, outcome, duration_ms, tokens)
        -- A record may have changed its state since it was read.
        WHERE r.id = ANY (p_ids) AND r.id = i.id AND r.outcome IS NULL
          AND (r.state = 'settled') = (i.outcome NOT IN ('unresolved', 'released'))
          AND (r.state = 'released') = (i.outcome = 'released')
        RETURNING 1 AS sign, r.time, r.caller, r.model, r.channel, r.images, r.charge, r.outcome, r.duration_ms, r.tokens
    )${toUpsert("old")};
  END $$;

  -- As before, and counts the records.
  CREATE FUNCTION {schema}.end_tasks(
    p_ids text[], p_statuses text[], p_results text[], p_errors text[], p_have_records boolean[],
    p_record_ids text[], p_time_ms float8[], p_callers text[], p_models text[], p_channels text[], p_images bigint[],
    p_charges numeric[], p_records text[], p_owner uuid, p_now_ms float8, p_outcomes text[], p_durations integer[],
    p_tokens bigint[]
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
      PERFORM {schema}.settle_usage(p_record_ids, p_time_ms, p_callers, p_models, p_channels, p_images, p_charges,
        p_records, NULL, p_outcomes, p_durations, p_tokens);
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

  -- The plans of these functions are kept: each of their statements can be done in one way only.
  ALTER FUNCTION {schema}.settle_usage SET plan_cache_mode = force_generic_plan;
  ALTER FUNCTION {schema}.end_tasks(text[], text[], text[], text[], boolean[], text[], float8[], text[], text[], text[],
    bigint[], numeric[], text[], uuid, float8, text[], integer[], bigint[]) SET plan_cache_mode = force_generic_plan;
`;
