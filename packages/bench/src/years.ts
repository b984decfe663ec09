// A ledger with years of records on PostgreSQL: its tables before and after they are divided into months, and the migration while
// requests are made. `node packages/bench/src/years.ts --older <index.js of @calotype/postgres before months> [--records 10000000]`
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { createPostgresLedger, migratePostgresLedger, type PostgresLedger } from "@calotype/postgres";
import { Pool } from "pg";
import { medianOf } from "./statistics.ts";

const { values } = parseArgs({
  options: { older: { type: "string" }, records: { type: "string", default: "10000000" } },
});
if (values.older === undefined)
  throw new Error("--older must name the index.js of the version before months");
const RECORDS = Number(values.records);
/** The records of a month, so that there are 24 months or a little less. */
const MONTHS = 24;
const BATCH = 1_000_000;

type Create = typeof createPostgresLedger;
const older: { readonly createPostgresLedger: Create } = await import(
  pathToFileURL(resolve(values.older)).href
);

const url = process.env["CALOTYPE_TEST_POSTGRES"] ?? "postgres://postgres@127.0.0.1:5432/test";
const admin = new Pool({ connectionString: url, max: 1 });
const name = `calotype_years_${process.pid}`;
await admin.query(`CREATE DATABASE ${name}`);
const own = new URL(url);
own.pathname = `/${name}`;
const pool = new Pool({ connectionString: own.href, max: 20 });
const say = (line: string): void => void process.stdout.write(`${new Date().toISOString()} ${line}\n`);

const end = Date.now();
const stepMs = (MONTHS * 30 * 86_400_000) / RECORDS;
const start = end - RECORDS * stepMs;
const iso = (ms: number): string => new Date(ms).toISOString();

try {
  const before = older.createPostgresLedger({ pool });
  await before.ready();
  await fill();
  await pool.query("VACUUM (ANALYZE) calotype.records");
  await pool.query("CHECKPOINT");
  await measure("before", before, async () => await deleteMonth());
  const requests = startRequests(before);
  const began = performance.now();
  await migratePostgresLedger({ pool });
  say(`the migration of ${RECORDS} records took ${((performance.now() - began) / 1000).toFixed(1)} s`);
  say(`requests during it (each a hold and a settlement, of the older version): ${await requests.stop()}`);
  await before.close();
  const after = createPostgresLedger({ pool });
  await pool.query("ANALYZE calotype.records");
  await after.sweep({ onLost: "charge" });
  // As many months as the records have, and more, because each month takes time to plan.
  for (let month = 0; month < MONTHS; month++) {
    await pool.query("SELECT calotype.make_month($1)", [end + month * 31 * 86_400_000]);
  }
  await measure(`after, with ${MONTHS} more months`, after, async () => {
    const [row] = (
      await pool.query<{ name: string }>(
        "SELECT name FROM calotype.list_months() WHERE name LIKE 'records_until%'",
      )
    ).rows;
    const size = await pool.query<{ size: string }>(
      "SELECT pg_size_pretty(pg_total_relation_size($1::regclass)) AS size",
      [`calotype.${row?.name}`],
    );
    await pool.query("DELETE FROM calotype.outbox_entries");
    const dropped = await pool.query<{ month: string }>(
      "SELECT calotype.drop_month(clock_timestamp() + interval '1 year') AS month",
    );
    return `dropped ${dropped.rows[0]?.month} of ${size.rows[0]?.size}`;
  });
  await after.close();
} finally {
  await pool.end();
  await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
  await admin.end();
}

/** Writes the records as settled and counted ones, with their balances. The indexes are built in the end, which is faster. */
async function fill(): Promise<void> {
  const began = performance.now();
  const { rows: indexes } = await pool.query<{ sql: string; name: string }>(
    "SELECT indexdef AS sql, indexname AS name FROM pg_indexes WHERE schemaname = 'calotype' AND tablename = 'records'",
  );
  await pool.query("ALTER TABLE calotype.records DROP CONSTRAINT records_pkey");
  for (const { name: index } of indexes) await pool.query(`DROP INDEX IF EXISTS calotype.${index}`);
  const time = `to_timestamp((${start} + n * ${stepMs}::float8) / 1000.0)`;
  for (let from = 0; from < RECORDS; from += BATCH) {
    await pool.query(`INSERT INTO calotype.records (id, state, time, caller, model, channel, images, charge, record, outcome,
        duration_ms, tokens)
      SELECT 'req_' || md5(n::text), 'settled', ${time}, 'caller-' || (n % 20), 'model-' || (n % 5), 'channel-' || (n % 4), 1, 0.0325,
        concat('{"state":"settled","id":"req_', md5(n::text), '","time":"',
          to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '","caller":"caller-', n % 20,
          '","group":"default","model":"model-', n % 5, '","operation":"generate","channel":"channel-', n % 4,
          '","upstreamModel":"ep","status":200,"endUser":"user-', n % 5000, '","tags":{"team":"team-', n % 50,
          '"},"images":1,"charge":"0.0325","durationMs":', 3000 + ((n % 1000) * 7919) % 60000,
          ',"usage":{"generated_images":1,"output_tokens":16384,"total_tokens":16384}}')::json,
        'succeeded', 3000 + ((n % 1000) * 7919) % 60000, 16384
      FROM generate_series(${from}, ${Math.min(RECORDS, from + BATCH) - 1}) AS n`);
  }
  for (const { sql } of indexes) await pool.query(`SET maintenance_work_mem = '1GB'; ${sql}`);
  await pool.query("ALTER TABLE calotype.records ADD PRIMARY KEY USING INDEX records_pkey");
  await pool.query(`INSERT INTO calotype.balances (caller, settled)
    SELECT caller, sum(charge) FROM calotype.records GROUP BY caller`);
  say(`${RECORDS} records were made in ${((performance.now() - began) / 1000).toFixed(0)} s`);
}

async function measure(title: string, ledger: PostgresLedger, drop: () => Promise<string>): Promise<void> {
  const size = await pool.query<{ size: string }>(
    `SELECT pg_size_pretty(sum(pg_total_relation_size(c.oid))) AS size FROM pg_class c
      WHERE c.relnamespace = 'calotype'::regnamespace AND c.relkind = 'r' AND c.relname LIKE 'records%'`,
  );
  say(`${title}: the records take ${size.rows[0]?.size} of disk`);
  const day = 86_400_000;
  const month = { from: iso(end - 30 * day), to: iso(end) };
  const parts: readonly [string, number, () => Promise<unknown>][] = [
    ["hold and settle, one alone", 200, () => request(ledger)],
    ["series of a month, by model", 5, () => ledger.history.series({ ...month, bucket: "day", by: "model" })],
    [
      "series of a day, by end user (reads records)",
      5,
      () => ledger.history.series({ from: iso(end - day), to: iso(end), by: "endUser" }),
    ],
    ["page of 50 newest", 20, () => ledger.history.page({ ...month, limit: 50 })],
    ["page of 50 of one caller", 20, () => ledger.history.page({ ...month, caller: "caller-3", limit: 50 })],
    [
      "page of 50 with the highest charges of a week",
      3,
      () => ledger.history.page({ from: iso(end - 7 * day), to: iso(end), sort: "charge", limit: 50 }),
    ],
    ["find by id", 20, () => ledger.history.find("req_c4ca4238a0b923820dcc509a6f75849b")],
    ["totals by caller of a month", 3, () => ledger.totals("caller", month)],
    [
      "check: balances against all records",
      1,
      () =>
        pool.query(`SELECT caller, settled, charges FROM calotype.balances
        LEFT JOIN (SELECT caller, sum(charge) AS charges FROM calotype.records GROUP BY caller) r USING (caller)
        WHERE settled <> coalesce(charges, 0)`),
    ],
  ];
  for (const [what, times, work] of parts) {
    const took: number[] = [];
    for (let at = 0; at < times; at++) {
      const began = performance.now();
      await work();
      took.push(performance.now() - began);
    }
    say(
      `${title}: ${what}: ${medianOf(took).toFixed(1)} ms (median of ${times}, slowest ${Math.max(...took).toFixed(1)})`,
    );
  }
  const began = performance.now();
  const done = await drop();
  say(`${title}: ${done} in ${((performance.now() - began) / 1000).toFixed(2)} s`);
}

/** What retention costs without months: the rows of the oldest month are deleted. */
async function deleteMonth(): Promise<string> {
  const { rowCount } = await pool.query("DELETE FROM calotype.records WHERE time < $1", [
    iso(start + 30 * 86_400_000),
  ]);
  return `deleted ${rowCount} records of a month`;
}

async function request(ledger: PostgresLedger): Promise<void> {
  const facts = {
    id: randomUUID(),
    time: iso(Date.now()),
    caller: "caller-3",
    group: "default",
    model: "model-1",
    operation: "generate",
  } as const;
  await ledger.hold({ ...facts, amount: "0.5", budget: "100000000", ttlMs: 3_600_000 });
  await ledger.settle({
    ...facts,
    state: "settled",
    channel: "channel-1",
    upstreamModel: "ep",
    status: 200,
    images: 1,
    charge: "0.25",
    durationMs: 1_000,
  });
}

/** Makes requests, one after another in each of eight lines, until they are stopped. Returns how long they took. */
function startRequests(ledger: PostgresLedger): { readonly stop: () => Promise<string> } {
  const stopping = new AbortController();
  const took: number[] = [];
  let failed = 0;
  const lines = Array.from({ length: 8 }, async () => {
    while (!stopping.signal.aborted) {
      const began = performance.now();
      await request(ledger).then(
        () => took.push(performance.now() - began),
        () => failed++,
      );
      await new Promise((resume) => setTimeout(resume, 20));
    }
  });
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(lines);
      const sorted = took.toSorted((one, other) => one - other);
      const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(0);
      return `${took.length}, ${failed} failed; median ${at(0.5)} ms, 99 % ${at(0.99)} ms, slowest ${(sorted.at(-1) ?? 0).toFixed(0)} ms`;
    },
  };
}
