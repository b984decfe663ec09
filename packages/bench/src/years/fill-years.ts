import { DURATION_LIMITS } from "@calotype/core/stores";
import type { Pool } from "pg";
import { toRecord } from "../million-records.ts";

/** The records of a period, evenly spaced. */
export interface RecordsPlan {
  readonly records: number;
  /** When the first one arrived, in milliseconds since 1970. */
  readonly from: number;
  /** The time between two of them, in milliseconds. */
  readonly stepMs: number;
  /** The number of the first one, so that the ids of two plans differ. */
  readonly first: number;
}

const BATCH = 1_000_000;

/** The id of the record with this number, as the database has it. */
export const idOf = async (pool: Pool, number: number): Promise<string> => {
  const { rows } = await pool.query<{ id: string }>(`SELECT ${ID} AS id FROM (VALUES ($1::bigint)) v (n)`, [
    number,
  ]);
  return rows[0]?.id ?? "";
};

/** In random order, as the ids of requests are. */
const ID = "'req_' || md5(n::text)";

/** Fills the empty tables of a ledger. Its indexes are built in the end, which is faster. */
export async function fillYears(pool: Pool, plan: RecordsPlan): Promise<void> {
  const { rows: indexes } = await pool.query<{ sql: string; name: string }>(
    "SELECT indexdef AS sql, indexname AS name FROM pg_indexes WHERE schemaname = 'calotype' AND tablename = 'records'",
  );
  const client = await pool.connect();
  try {
    await client.query("SET maintenance_work_mem = '1GB'; BEGIN; TRUNCATE calotype.records");
    await client.query("ALTER TABLE calotype.records DROP CONSTRAINT records_pkey");
    for (const { name } of indexes) await client.query(`DROP INDEX IF EXISTS calotype.${name}`);
    await addRecords(client, plan);
    for (const { sql } of indexes) await client.query(sql);
    await client.query("ALTER TABLE calotype.records ADD PRIMARY KEY USING INDEX records_pkey");
    await client.query("COMMIT");
    await client.query(TOTALS);
    await client.query(`INSERT INTO calotype.balances (caller, settled)
      SELECT caller, sum(charge) FROM calotype.hourly_totals GROUP BY caller`);
    await client.query("VACUUM (ANALYZE)");
    await client.query("CHECKPOINT");
  } finally {
    client.release(true);
  }
}

/** Adds settled records, which no total counts. */
export async function addRecords(
  database: Pick<Pool, "query">,
  { records, from, stepMs, first }: RecordsPlan,
): Promise<void> {
  const time = `to_timestamp((${from} + (n - ${first}) * ${stepMs}::float8) / 1000.0)`;
  const record = toRecord(
    (parts) => `concat(${parts.join(", ")})`,
    `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    "md5(n::text)",
  );
  for (let done = 0; done < records; done += BATCH) {
    await database.query(`INSERT INTO calotype.records (id, state, time, caller, model, channel, images, charge, record, outcome,
        duration_ms, tokens)
      SELECT ${ID}, 'settled', ${time}, 'caller-' || (n % 20), 'model-' || (n % 5), 'channel-' || (n % 4), 1, 0.0325,
        ${record}::json, CASE WHEN n % 50 = 3 THEN 'failed' ELSE 'succeeded' END,
        3000 + ((n % 1000) * 7919) % 60000, 16384
      FROM generate_series(${first + done}, ${first + Math.min(records, done + BATCH) - 1}) AS n`);
  }
}

const DURATIONS = Array.from({ length: DURATION_LIMITS.length + 1 }, (_, at) => at);

/** The totals of each hour. The durations are counted first, because a sum with a condition for each of them takes longer. */
const TOTALS = `
  WITH counted AS MATERIALIZED (
    SELECT date_trunc('hour', time, 'UTC') AS hour, caller, model, channel, outcome,
        width_bucket(duration_ms, '{${DURATION_LIMITS.join(",")}}'::integer[]) AS duration,
        count(*) AS requests, sum(images) AS images, sum(charge) AS charge, sum(tokens) AS tokens, sum(duration_ms) AS duration_ms
      FROM calotype.records GROUP BY 1, 2, 3, 4, 5, 6
  )
  INSERT INTO calotype.hourly_totals (hour, caller, model, channel, requests, refused, failed, unresolved, released, images, charge,
      tokens, duration_ms, ${DURATIONS.map((at) => `duration_${at}`).join(", ")})
    SELECT hour, caller, model, channel, sum(requests), 0, coalesce(sum(requests) FILTER (WHERE outcome = 'failed'), 0), 0, 0,
        sum(images), sum(charge), sum(tokens), coalesce(sum(duration_ms) FILTER (WHERE outcome = 'succeeded'), 0),
        ${DURATIONS.map((at) => `coalesce(sum(requests) FILTER (WHERE outcome = 'succeeded' AND duration = ${at}), 0)`).join(", ")}
      FROM counted GROUP BY 1, 2, 3, 4`;
