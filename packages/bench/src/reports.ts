// Measures reports over a million records: npm run bench:reports -- sqlite postgres
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { UsageHistory } from "@calotype/core/billing";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { Pool } from "pg";
import { medianOf } from "./statistics.ts";

const RECORDS = 1_000_000;
/** 100 days, one request each 8.64 seconds. */
const START = Date.parse("2026-01-01T00:00:00Z");
const STEP_MS = 8_640;
const END = START + RECORDS * STEP_MS;
const ROUNDS = 5;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const iso = (instant: number): string => new Date(instant).toISOString();
const DAY_MS = 86_400_000;

/** What the page of an operator reads. */
const REPORTS: Readonly<Record<string, (history: UsageHistory) => Promise<unknown>>> = {
  "100 days by day and caller": (history) =>
    history.series({ from: iso(START), to: iso(END), bucket: "day", by: "caller" }),
  "100 days by day and model, in India": (history) =>
    history.series({ from: iso(START), to: iso(END), bucket: "day", by: "model", timeZone: "Asia/Kolkata" }),
  "the last day by hour and channel": (history) =>
    history.series({ from: iso(END - DAY_MS), to: iso(END), bucket: "hour", by: "channel" }),
  "the last day by end user, from 10,000 records": (history) =>
    history.series({ from: iso(END - DAY_MS), to: iso(END), by: "endUser" }),
  "the newest 50 records": (history) => history.page(),
  "the newest 50 failures of a caller": (history) =>
    history.page({ caller: "caller-3", outcomes: ["failed"] }),
  "the 50 highest charges of the last day": (history) =>
    history.page({ from: iso(END - DAY_MS), sort: "charge" }),
  "one record by its id": (history) => history.find("req_500000"),
};

/** The records are those of an older version, which the first report counts. */
async function countOld(name: string, history: UsageHistory): Promise<void> {
  const start = performance.now();
  await history.series({ from: iso(START), to: iso(START + 3_600_000) });
  say(
    `${name}: ${((performance.now() - start) / 1000).toFixed(0)} s to count ${RECORDS} records of an older version`,
  );
}

async function measure(name: string, history: UsageHistory): Promise<void> {
  for (const [title, report] of Object.entries(REPORTS)) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const began = performance.now();
      await report(history);
      times.push(performance.now() - began);
    }
    say(`${name}: ${title}: ${medianOf(times).toFixed(1)} ms`);
  }
}

/** A record as JSON in SQL, with the number `n`. */
const toRecord = (concat: (parts: readonly string[]) => string, time: string): string =>
  concat([
    `'{"state":"settled","id":"req_'`,
    "n",
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
    `'","images":1,"charge":"0.0325","durationMs":'`,
    "3000 + ((n % 1000) * 7919) % 60000",
    `',"usage":{"generated_images":1,"output_tokens":16384,"total_tokens":16384},"attempts":[{"channel":"channel-1","key":0,"status":200,"durationMs":9000}]}'`,
  ]);

async function measureSqlite(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "calotype-reports-"));
  const path = join(folder, "ledger.db");
  try {
    await createSqliteLedger({ path }).close();
    const database = new DatabaseSync(path);
    const record = toRecord(
      (parts) => parts.map((part) => `(${part})`).join(" || "),
      "strftime('%Y-%m-%dT%H:%M:%fZ', time / 1000.0, 'unixepoch')",
    );
    database.exec(`WITH RECURSIVE numbers (n, time) AS (
        SELECT 0, ${START} UNION ALL SELECT n + 1, time + ${STEP_MS} FROM numbers WHERE n < ${RECORDS - 1})
      INSERT INTO records (id, state, time, caller, model, channel, images, charge, record)
        SELECT 'req_' || n, 'settled', time, 'caller-' || (n % 20), 'model-' || (n % 5), 'channel-' || (n % 4), 1,
          '0.0325', ${record} FROM numbers`);
    database.close();
    const ledger = createSqliteLedger({ path });
    await countOld("SQLite", ledger.history);
    await measure("SQLite", ledger.history);
    await ledger.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measurePostgres(): Promise<void> {
  const url = process.env["CALOTYPE_TEST_POSTGRES"] ?? "postgres://postgres@127.0.0.1:5432/test";
  const pool = new Pool({ connectionString: url });
  const schema = `calotype_reports_${randomUUID()}`;
  try {
    const empty = createPostgresLedger({ pool, schema });
    await empty.ready();
    await empty.close();
    const record = toRecord(
      (parts) => `concat(${parts.join(", ")})`,
      `to_char(to_timestamp((${START} + n * ${STEP_MS}::bigint) / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    );
    await pool.query(`INSERT INTO "${schema}".records (id, state, time, caller, model, channel, images, charge, record)
      SELECT 'req_' || n, 'settled', to_timestamp((${START} + n * ${STEP_MS}::bigint) / 1000.0), 'caller-' || (n % 20),
        'model-' || (n % 5), 'channel-' || (n % 4), 1, 0.0325, ${record}::json
        FROM generate_series(0, ${RECORDS - 1}) AS n`);
    const ledger = createPostgresLedger({ pool, schema, timeoutSeconds: 60 });
    await ledger.ready();
    await countOld("PostgreSQL", ledger.history);
    await pool.query(`VACUUM ANALYZE "${schema}".records, "${schema}".hourly_totals`);
    await measure("PostgreSQL", ledger.history);
    await ledger.close();
  } finally {
    await pool.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    await pool.end();
  }
}

const LEDGERS = { sqlite: measureSqlite, postgres: measurePostgres };
const names = process.argv.slice(2);
for (const [name, run] of Object.entries(LEDGERS)) {
  if (names.length === 0 || names.includes(name)) await run();
}
