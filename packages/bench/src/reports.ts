// Measures the reports of a million records, and for how long each of them blocks the process:
// npm run bench:reports -- sqlite postgres
// `sqlite=FILE` and `postgres=SCHEMA` keep the records, for the next time.
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createRepricer, exportRecords } from "@calotype/core/billing";
import type { HistoryLedger } from "@calotype/core/stores";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { Pool } from "pg";
import { type Cost, measureCost } from "./measure-cost.ts";
import { fillPostgres, fillSqlite, RECORDS, startOf } from "./million-records.ts";
import { medianOf } from "./statistics.ts";

const END = Date.parse("2026-04-11T00:00:00Z");
const START = startOf(END);
const ROUNDS = 3;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const iso = (instant: number): string => new Date(instant).toISOString();
const DAY_MS = 86_400_000;
const days = (count: number): { readonly from: string; readonly to: string } => ({
  from: iso(END - count * DAY_MS),
  to: iso(END),
});
const PRICES = {
  model_details: Object.fromEntries(
    Array.from(
      { length: 5 },
      (_, at) => [`model-${at}`, { pricing_mode: "per-request", model_price: "0.04" }] as const,
    ),
  ),
};

/** What the page of an operator reads, and what an app may read. */
const REPORTS: Readonly<Record<string, (ledger: HistoryLedger) => Promise<unknown>>> = {
  "100 days by day and caller": ({ history }) =>
    history.series({ ...days(100), bucket: "day", by: "caller" }),
  "100 days by caller, in one bucket": ({ history }) => history.series({ ...days(100), by: "caller" }),
  "100 days by day and model, in India": ({ history }) =>
    history.series({ ...days(100), bucket: "day", by: "model", timeZone: "Asia/Kolkata" }),
  "100 days of a caller by day": ({ history }) =>
    history.series({ ...days(100), bucket: "day", caller: "caller-3" }),
  "the last day by hour and channel": ({ history }) =>
    history.series({ ...days(1), bucket: "hour", by: "channel" }),
  "the last day by end user, from 10,000 records": ({ history }) =>
    history.series({ ...days(1), by: "endUser" }),
  "30 days by end user, from 300,000 records": ({ history }) =>
    history.series({ ...days(30), by: "endUser" }),
  "30 days by day and end user": ({ history }) =>
    history.series({ ...days(30), bucket: "day", by: "endUser" }),
  "30 days by tag": ({ history }) => history.series({ ...days(30), by: "tag:team" }),
  "30 days of one end user by day": ({ history }) =>
    history.series({ ...days(30), bucket: "day", endUser: "user-77" }),
  "30 days of an unknown end user": ({ history }) => history.series({ ...days(30), endUser: "nobody" }),
  "30 days of a tag by caller": ({ history }) =>
    history.series({ ...days(30), by: "caller", tag: { key: "team", value: "team-7" } }),
  "30 days of failures by day": ({ history }) =>
    history.series({ ...days(30), bucket: "day", outcomes: ["failed"] }),
  "30 days of successes by day": ({ history }) =>
    history.series({ ...days(30), bucket: "day", outcomes: ["succeeded"] }),
  "the newest 50 records": ({ history }) => history.page(),
  "the newest 50 failures of a caller": ({ history }) =>
    history.page({ caller: "caller-3", outcomes: ["failed"] }),
  "the newest 50 records of an end user": ({ history }) => history.page({ endUser: "user-77" }),
  "the newest 50 records of an unknown end user, 30 days": ({ history }) =>
    history.page({ ...days(30), endUser: "nobody" }),
  "the 50 highest charges of the last day": ({ history }) => history.page({ ...days(1), sort: "charge" }),
  "the 50 highest charges of 30 days": ({ history }) => history.page({ ...days(30), sort: "charge" }),
  "the 50 longest requests of a caller of 30 days": ({ history }) =>
    history.page({ ...days(30), caller: "caller-3", sort: "duration" }),
  "one record by its id": ({ history }) => history.find("req_500000"),
  "totals of 30 days by caller": (ledger) => ledger.totals("caller", days(30)),
  "totals of 30 days by end user": (ledger) => ledger.totals("endUser", days(30)),
  "totals of 100 days by day": (ledger) => ledger.totals("day"),
  "30 days of an end user, exported": (ledger) =>
    drain(exportRecords(ledger, { ...days(30), endUser: "user-77" })),
  "10 days, 100,000 records, exported": (ledger) => drain(exportRecords(ledger, days(10))),
  "10 days, 100,000 records, repriced": async (ledger) => {
    const repricer = createRepricer(PRICES);
    for await (const record of ledger.records(days(10))) repricer.add(record);
    return repricer.sum();
  },
};

/** Reads everything. */
async function drain(lines: AsyncIterable<string>): Promise<void> {
  for await (const line of lines) void line;
}

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
