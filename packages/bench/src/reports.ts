// Measures reports over a million records: npm run bench:reports -- sqlite postgres
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UsageHistory } from "@calotype/core/billing";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { Pool } from "pg";
import { fillPostgres, fillSqlite, RECORDS, startOf } from "./million-records.ts";
import { medianOf } from "./statistics.ts";

const END = Date.parse("2026-04-11T00:00:00Z");
const START = startOf(END);
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

async function measureSqlite(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "calotype-reports-"));
  const path = join(folder, "ledger.db");
  try {
    await fillSqlite(path, END);
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
    await fillPostgres(pool, schema, END);
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
