// A ledger with two years of records on PostgreSQL: what takes how long with the tables of an older version and with those of this
// one, the migration while requests are made, and the removal of a month.
// npm run bench:years -- --older <index.js of @calotype/postgres before months> [--records 10000000] [--no-check] [--store]
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import {
  createPostgresLedger,
  migratePostgresLedger,
  type PostgresLedger,
  type prunePostgresLedger,
} from "@calotype/postgres";
import { Pool } from "pg";
import { startBenchServer } from "./bench-server.ts";
import { beginRun } from "./stored-run.ts";
import { addRecords, fillYears, idOf } from "./years/fill-years.ts";
import { measureYears, readSizes, type YearsMeasures } from "./years/measure-years.ts";
import { type WriterTimes, withWriters } from "./years/writers.ts";

/** The results of a run. */
export interface YearsResults {
  readonly records: number;
  readonly months: number;
  readonly postgres: string;
  readonly older: YearsMeasures;
  /** Requests while nothing else runs. */
  readonly idleWriters: WriterTimes;
  /** The records of the oldest month, deleted by the older version. */
  readonly pruned: Removal;
  readonly migration: {
    readonly seconds: number;
    readonly writers: WriterTimes;
    /** The largest size of the tables meanwhile. */
    readonly mostBytes: number;
  };
  readonly newer: YearsMeasures;
  /** The partition of all records from before the migration. */
  readonly droppedOld: Removal;
  /** A partition with the records of a month. */
  readonly droppedMonth: Removal;
}

/** Removed records, and how long requests took meanwhile. */
export interface Removal {
  readonly records: number;
  readonly seconds: number;
  /** By how much the tables became smaller. */
  readonly freedBytes: number;
  readonly writers: WriterTimes;
}

const { values: options } = parseArgs({
  options: {
    older: { type: "string" },
    records: { type: "string", default: "10000000" },
    check: { type: "boolean", default: true },
    store: { type: "boolean", default: false },
  },
  allowNegative: true,
});
if (options.older === undefined) {
  throw new Error("--older must name the dist/index.js of an @calotype/postgres that has no months.");
}
const RECORDS = Number(options.records);
if (!Number.isSafeInteger(RECORDS) || RECORDS < 100_000) {
  throw new RangeError("--records must be a whole number, at least 100000.");
}
const MONTHS = 24;
const DAY_MS = 86_400_000;
const MONTH_MS = 30 * DAY_MS;
const IDLE_MS = 10_000;
/** On a busy machine, the page of an export may take longer than the default. */
const PATIENCE_SECONDS = 300;
/** What is written to a table in the transaction that emptied it needs no write-ahead log. */
const WITHOUT_LOG = { wal_level: "minimal", max_wal_senders: "0", max_wal_size: "8GB" };

/** What the older version has, too. */
interface Version {
  readonly createPostgresLedger: typeof createPostgresLedger;
  readonly prunePostgresLedger: typeof prunePostgresLedger;
}
const older: Version = await import(pathToFileURL(resolve(options.older)).href);

const say = (line: string): void => void process.stdout.write(`${new Date().toISOString()} ${line}\n`);
const showWriters = ({ requests, failed, median, p99, slowest }: WriterTimes): string =>
  `${requests} requests, ${failed} failed, median ${median.toFixed(1)} ms, 99 % ${p99.toFixed(0)} ms, slowest ${slowest.toFixed(0)} ms`;

const store = beginRun(
  `npm run bench:years -- --older … --records ${RECORDS}${options.check ? "" : " --no-check"}`,
);
const server = await startBenchServer();
let pool = connect();
try {
  const results = await run();
  if (options.store) say(`stored in ${store(`years-${RECORDS / 1_000_000}m`, results)}`);
} finally {
  await pool.end();
  await server.remove();
}

/** The connections stay open, because the CPU time of a session is known more exactly while it runs. */
function connect(): Pool {
  return new Pool({ connectionString: server.url, max: 20, idleTimeoutMillis: 0 });
}

/** Restarts the server while no ledger is open. */
async function restart(settings: Readonly<Record<string, string>>): Promise<void> {
  await pool.end();
  await server.restart(settings);
  pool = connect();
}

async function run(): Promise<YearsResults> {
  const end = Date.now();
  const from = end - MONTHS * MONTH_MS;
  const stepMs = (end - from) / RECORDS;
  const empty = older.createPostgresLedger({ pool });
  await empty.ready();
  await empty.close();
  const began = performance.now();
  await restart(WITHOUT_LOG);
  await fillYears(pool, { records: RECORDS, from, stepMs, first: 0 });
  await restart({});
  const before = older.createPostgresLedger({ pool, timeoutSeconds: PATIENCE_SECONDS });
  say(`${RECORDS} records were made in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  const id = await idOf(pool, Math.floor(RECORDS / 2));
  const measure = async (
    title: string,
    ledger: PostgresLedger,
    isChecked: boolean,
  ): Promise<YearsMeasures> => {
    say(title);
    const measured = await measureYears({ pool, server, ledger, isChecked, end, id, say });
    say(`  the records take ${(measured.recordsBytes / 1e9).toFixed(2)} GB`);
    return measured;
  };

  const measuredOlder = await measure("The older version", before, false);
  const { writers: idleWriters } = await withWriters(before, async () => await pause(IDLE_MS));
  say(`Requests while nothing else runs: ${showWriters(idleWriters)}`);
  const pruned = await remove(before, async () => {
    const oldest = new Date(from + MONTH_MS).toISOString();
    return await older.prunePostgresLedger({ pool, before: oldest, undelivered: true });
  });

  const { result: mostBytes, seconds, writers } = await withWriters(before, migrate);
  say(
    `The migration took ${seconds.toFixed(1)} s and ${(mostBytes / 1e9).toFixed(2)} GB; meanwhile ${showWriters(writers)}`,
  );
  await before.close();
  const after = createPostgresLedger({ pool, timeoutSeconds: PATIENCE_SECONDS });
  await after.sweep({ onLost: "charge" });
  // As many months as the records have, because each of them takes time to plan.
  for (let month = 0; month < MONTHS; month++) {
    await pool.query("SELECT calotype.make_month($1)", [end + month * 31 * DAY_MS]);
  }
  await pool.query("ANALYZE calotype.records");
  const newer = await measure(`After the migration, with ${MONTHS} more months`, after, options.check);

  const old = await findOld();
  const monthly = Math.round(RECORDS / MONTHS);
  await addRecords(pool, {
    records: monthly,
    from: old.endsAt,
    stepMs: (28 * DAY_MS) / monthly,
    first: RECORDS,
  });
  // The older version wrote an entry for each record. A month with an entry that waits is not dropped.
  await pool.query("DELETE FROM calotype.outbox_entries");
  const drop = async (beforeMs: number, records: number): Promise<Removal> =>
    await remove(after, async () => {
      await pool.query("SELECT calotype.drop_month(to_timestamp($1::float8 / 1000))", [beforeMs]);
      return records;
    });
  const droppedOld = await drop(old.endsAt, old.records);
  const droppedMonth = await drop(old.endsAt + 31 * DAY_MS, monthly);
  await after.close();
  return {
    records: RECORDS,
    months: MONTHS,
    postgres: server.version,
    older: measuredOlder,
    idleWriters,
    pruned,
    migration: { seconds, writers, mostBytes },
    newer,
    droppedOld,
    droppedMonth,
  };
}

/** Migrates the tables. Returns their largest size meanwhile. */
async function migrate(): Promise<number> {
  const migrating = new AbortController();
  let mostBytes = 0;
  const watching = (async () => {
    while (!migrating.signal.aborted) {
      mostBytes = Math.max(mostBytes, (await readSizes(pool)).recordsBytes);
      await pause(500);
    }
  })();
  try {
    await migratePostgresLedger({ pool });
  } finally {
    migrating.abort();
    await watching;
  }
  return mostBytes;
}

/** The partition of what was there before the migration. */
async function findOld(): Promise<{ readonly endsAt: number; readonly records: number }> {
  const { rows } = await pool.query<{ name: string; ends_at: Date }>(
    "SELECT name, ends_at FROM calotype.list_months() WHERE name LIKE 'records_until%'",
  );
  const [row] = rows;
  if (row === undefined) throw new Error("The migration made no partition of the older records.");
  const counted = await pool.query<{ count: string }>(`SELECT count(*) FROM calotype.${row.name}`);
  return { endsAt: row.ends_at.getTime(), records: Number(counted.rows[0]?.count) };
}

async function remove(ledger: PostgresLedger, work: () => Promise<number>): Promise<Removal> {
  const { recordsBytes } = await readSizes(pool);
  const { result: records, seconds, writers } = await withWriters(ledger, work);
  const freedBytes = recordsBytes - (await readSizes(pool)).recordsBytes;
  say(
    `${records} records were removed in ${seconds.toFixed(2)} s, ${(freedBytes / 1e9).toFixed(2)} GB; ${showWriters(writers)}`,
  );
  return { records, seconds, freedBytes, writers };
}
