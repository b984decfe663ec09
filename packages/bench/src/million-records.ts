// A million records for measurements of reports: of 100 days, 20 callers, 5 models, 4 channels, 5,000 end users and 50 teams (a tag).
import { DatabaseSync } from "node:sqlite";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import type { Pool } from "pg";

export const RECORDS = 1_000_000;
/** 100 days, one request each 8.64 seconds. */
const STEP_MS = 8_640;

/** When the first record arrived, if the period of all records ends at `end`. Milliseconds since 1970. */
export const startOf = (end: number): number => end - RECORDS * STEP_MS;

/** Creates a ledger file with the records, as an older version of the ledger would have stored them. */
export async function fillSqlite(path: string, end: number): Promise<void> {
  await createSqliteLedger({ path }).close();
  const database = new DatabaseSync(path);
  const record = toRecord(
    (parts) => parts.map((part) => `(${part})`).join(" || "),
    "strftime('%Y-%m-%dT%H:%M:%fZ', time / 1000.0, 'unixepoch')",
  );
  database.exec(`WITH RECURSIVE numbers (n, time) AS (
      SELECT 0, ${startOf(end)} UNION ALL SELECT n + 1, time + ${STEP_MS} FROM numbers WHERE n < ${RECORDS - 1})
    INSERT INTO records (id, state, time, caller, model, channel, images, charge, record)
      SELECT 'req_' || n, 'settled', time, 'caller-' || (n % 20), 'model-' || (n % 5), 'channel-' || (n % 4), 1,
        '0.0325', ${record} FROM numbers`);
  database.close();
}

/** Creates the tables of a schema, with the records as an older version of the ledger would have stored them. */
export async function fillPostgres(pool: Pool, schema: string, end: number): Promise<void> {
  const empty = createPostgresLedger({ pool, schema });
  await empty.ready();
  await empty.close();
  const time = `${startOf(end)} + n * ${STEP_MS}::bigint`;
  const record = toRecord(
    (parts) => `concat(${parts.join(", ")})`,
    `to_char(to_timestamp((${time}) / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  );
  await pool.query(`INSERT INTO "${schema}".records (id, state, time, caller, model, channel, images, charge, record)
    SELECT 'req_' || n, 'settled', to_timestamp((${time}) / 1000.0), 'caller-' || (n % 20), 'model-' || (n % 5),
      'channel-' || (n % 4), 1, 0.0325, ${record}::json FROM generate_series(0, ${RECORDS - 1}) AS n`);
}

/**
 * A record as JSON in SQL, with the number `n`. Each fiftieth request failed.
 *
 * @param id the id without `req_`, in SQL
 */
export function toRecord(concat: (parts: readonly string[]) => string, time: string, id = "n"): string {
  return concat([
    `'{"state":"settled","id":"req_'`,
    id,
    `'","time":"'`,
    time,
    `'","caller":"caller-'`,
    "n % 20",
    `'","group":"default","model":"model-'`,
    "n % 5",
    `'","operation":"generate","channel":"channel-'`,
    "n % 4",
    `'","upstreamModel":"ep","status":'`,
    "CASE WHEN n % 50 = 3 THEN 502 ELSE 200 END",
    `',"endUser":"user-'`,
    "n % 5000",
    `'","tags":{"team":"team-'`,
    "n % 50",
    `'"},"images":1,"charge":"0.0325","durationMs":'`,
    "3000 + ((n % 1000) * 7919) % 60000",
    `',"usage":{"generated_images":1,"output_tokens":16384,"total_tokens":16384},"attempts":[{"channel":"channel-1","key":0,"status":200,"durationMs":9000}]}'`,
  ]);
}
