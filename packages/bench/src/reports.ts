// Measures the reports of a million records, and for how long each of them blocks the process:
// npm run bench:reports -- sqlite postgres
// `sqlite=FILE` and `postgres=SCHEMA` keep the records, for the next time.
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { HistoryLedger } from "@calotype/core/stores";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { Pool } from "pg";
import { type Cost, measureCost } from "./measure-cost.ts";
import { fillPostgres, fillSqlite, RECORDS, startOf } from "./million-records.ts";
import { createReports } from "./report-queries.ts";
import { medianOf } from "./statistics.ts";

const END = Date.parse("2026-04-11T00:00:00Z");
const START = startOf(END);
const ROUNDS = 3;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const iso = (instant: number): string => new Date(instant).toISOString();
const REPORTS = createReports(END, "req_500000");

/** The records are those of an older version, which the first report counts. */
async function countOld(name: string, { history }: HistoryLedger): Promise<void> {
  const start = performance.now();
  await history.series({ from: iso(START), to: iso(START + 3_600_000) });
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  say(`${name}: ${seconds} s to count records of an older version, ${RECORDS} at most`);
}

async function measure(name: string, ledger: HistoryLedger): Promise<void> {
  say("| Ledger | Report | Milliseconds | CPU of the process | Longest turn |");
  for (const [title, report] of Object.entries(REPORTS)) {
    const costs: Cost[] = [];
    for (let round = 0; round < ROUNDS; round++) costs.push(await measureCost(() => report(ledger)));
    const show = (key: keyof Cost): string => medianOf(costs.map((cost) => cost[key])).toFixed(1);
    say(`| ${name} | ${title} | ${show("wall")} | ${show("cpu")} | ${show("longestTurn")} |`);
  }
}

async function measureSqlite(file: string | undefined): Promise<void> {
  const path = file ?? join(mkdtempSync(join(tmpdir(), "calotype-reports-")), "ledger.db");
  try {
    if (!existsSync(path)) await fillSqlite(path, END);
    const ledger = createSqliteLedger({ path });
    await countOld("SQLite", ledger);
    await measure("SQLite", ledger);
    await ledger.close();
  } finally {
    if (file === undefined) rmSync(dirname(path), { recursive: true });
  }
}

async function measurePostgres(kept: string | undefined): Promise<void> {
  const url = process.env["CALOTYPE_TEST_POSTGRES"] ?? "postgres://postgres@127.0.0.1:5432/test";
  const pool = new Pool({ connectionString: url });
  const schema = kept ?? `calotype_reports_${randomUUID()}`;
  try {
    const { rowCount } = await pool.query("SELECT FROM pg_namespace WHERE nspname = $1", [schema]);
    const isNew = rowCount === 0;
    if (isNew) await fillPostgres(pool, schema, END);
    const ledger = createPostgresLedger({ pool, schema, timeoutSeconds: 60 });
    await ledger.ready();
    await countOld("PostgreSQL", ledger);
    if (isNew) await pool.query(`VACUUM ANALYZE "${schema}".records, "${schema}".hourly_totals`);
    await measure("PostgreSQL", ledger);
    await ledger.close();
  } finally {
    if (kept === undefined) await pool.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    await pool.end();
  }
}

const chosen = new Map(process.argv.slice(2).map((text) => [text.split("=")[0], text.split("=")[1]]));
if (chosen.size === 0 || chosen.has("sqlite")) await measureSqlite(chosen.get("sqlite"));
if (chosen.size === 0 || chosen.has("postgres")) await measurePostgres(chosen.get("postgres"));
