import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { PostgresLedger } from "@calotype/postgres";
import type { Pool } from "pg";
import type { BenchServer } from "../bench-server.ts";
import { createReports } from "../report-queries.ts";
import { medianOf } from "../statistics.ts";
import { makeRequest } from "./writers.ts";

/** The tables of a ledger, and what takes how long with them. */
export interface YearsMeasures {
  /** With indexes. */
  readonly recordsBytes: number;
  /** Without indexes. */
  readonly recordsHeapBytes: number;
  readonly totalsBytes: number;
  /** By operation. */
  readonly times: Readonly<Record<string, OperationTime>>;
}

/** The medians of an operation, in milliseconds. */
export interface OperationTime {
  readonly ms: number;
  /** CPU time of the server. Other programs of the machine change it less. */
  readonly cpuMs: number;
}

/** Names of operations besides those of the reports. The check knows only the present tables. */
const HOLD_AND_SETTLE = "hold and settle, one request alone";
const SUMS = "each balance against the sum of its records, in SQL";
const CHECK = "`calotype-ledger check`: balances and totals against all records";

const REQUESTS = 200;
const REPORT_TIMES = 3;
/** A report is not repeated after this time. */
const ENOUGH_MS = 3_000;

/** What a measurement needs. */
export interface MeasureContext {
  readonly pool: Pool;
  readonly server: BenchServer;
  readonly ledger: PostgresLedger;
  /** The end of the periods of the reports, in milliseconds since 1970. */
  readonly end: number;
  /** Whether `calotype-ledger check` is measured, which knows only the present tables and takes long. */
  readonly isChecked: boolean;
  /** The id of a record. */
  readonly id: string;
  readonly say: (line: string) => void;
}

/** Measures what a gateway and the studio do with the tables, and the check of the balances. */
export async function measureYears(context: MeasureContext): Promise<YearsMeasures> {
  const { pool, server, ledger, isChecked, end, id, say } = context;
  const works: Record<string, readonly [most: number, work: () => Promise<unknown>]> = {
    [HOLD_AND_SETTLE]: [REQUESTS, () => makeRequest(ledger)],
  };
  for (const [title, report] of Object.entries(createReports(end, id))) {
    works[title] = [REPORT_TIMES, () => report(ledger)];
  }
  works[SUMS] = [1, () => pool.query(WRONG_BALANCES)];
  if (isChecked) works[CHECK] = [1, () => check(server.url)];
  const times: Record<string, OperationTime> = {};
  for (const [title, [most, work]] of Object.entries(works)) {
    const took: OperationTime[] = [];
    const firstBegan = performance.now();
    do {
      const [began, cpuBegan] = [performance.now(), server.readCpuMs()];
      await work();
      took.push({ ms: performance.now() - began, cpuMs: server.readCpuMs() - cpuBegan });
    } while (took.length < most && performance.now() - firstBegan < ENOUGH_MS);
    const medianFor = (key: keyof OperationTime): number =>
      Number(medianOf(took.map((each) => each[key])).toFixed(2));
    const time = { ms: medianFor("ms"), cpuMs: medianFor("cpuMs") };
    times[title] = time;
    say(`  ${title}: ${time.ms} ms, ${time.cpuMs} ms of the server's CPU (median of ${took.length})`);
  }
  return { ...(await readSizes(pool)), times };
}

/** Rejects if the command fails, or finds a difference. */
async function check(url: string): Promise<void> {
  const script = new URL("calotype-ledger.js", import.meta.resolve("@calotype/ledger"));
  await promisify(execFile)(process.execPath, [fileURLToPath(script), "check", "--ledger", url]);
}

const WRONG_BALANCES = `SELECT caller, settled, charges FROM calotype.balances
  LEFT JOIN (SELECT caller, sum(charge) AS charges FROM calotype.records GROUP BY caller) r USING (caller)
  WHERE settled <> coalesce(charges, 0)`;

/** The disk space of the tables, in bytes. */
export async function readSizes(pool: Pool): Promise<Omit<YearsMeasures, "times">> {
  const { rows } = await pool.query<Record<"records" | "heap" | "totals", string>>(
    `SELECT sum(pg_total_relation_size(c.oid)) FILTER (WHERE c.relname LIKE 'records%') AS records,
        sum(pg_relation_size(c.oid)) FILTER (WHERE c.relname LIKE 'records%') AS heap,
        sum(pg_total_relation_size(c.oid)) FILTER (WHERE c.relname = 'hourly_totals') AS totals
      FROM pg_class c WHERE c.relnamespace = 'calotype'::regnamespace AND c.relkind = 'r'`,
  );
  const [row] = rows;
  return {
    recordsBytes: Number(row?.records),
    recordsHeapBytes: Number(row?.heap),
    totalsBytes: Number(row?.totals),
  };
}
