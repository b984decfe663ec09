import { randomUUID } from "node:crypto";
import { createPostgresLedger } from "@calotype/postgres";
import { Pool } from "pg";
import { medianOf, medianRatioOf } from "../statistics.ts";

const CONNECTIONS = 20;
const ROUNDS = 5;
const ROUND_MS = 1000;
const SINGLE_REQUESTS = 300;
/** Requests before the tables are analyzed, as autovacuum does in a new database. Then the tables grow. */
const EARLY_REQUESTS = 20;

/** One operation, identified by a number. Many run in parallel. */
type Work = (at: number) => Promise<unknown>;
type CallerWork = (caller: string) => Promise<unknown>;

/**
 * Compares hold and settle on PostgreSQL with the smallest possible durable write: one row in its own transaction,
 * over the same pool. They run in turns, so that what slows down the machine affects both.
 */
export async function runPostgres({ say }: { say: (line: string) => void }): Promise<void> {
  const url = process.env["CALOTYPE_TEST_POSTGRES"] ?? "postgres://postgres@127.0.0.1:5432/test";
  const pool = new Pool({ connectionString: url, max: CONNECTIONS });
  const schema = `calotype_bench_${randomUUID()}`;
  const ledger = createPostgresLedger({ pool, schema });
  try {
    await ledger.ready();
    await pool.query(`CREATE TABLE "${schema}".bare (id text PRIMARY KEY, charge numeric NOT NULL)`);
    const insert = `INSERT INTO "${schema}".bare VALUES ($1, $2)`;
    const update = `UPDATE "${schema}".bare SET charge = $2 WHERE id = $1`;
    const bare: Work = () => pool.query(insert, [randomUUID(), "0.25"]);
    const bareTwice = async (): Promise<void> => {
      const id = randomUUID();
      await pool.query(insert, [id, "0.5"]);
      await pool.query(update, [id, "0.25"]);
    };
    const settle: CallerWork = async (caller) => await ledger.settle({ ...createFacts(caller), ...SETTLED });
    const request: CallerWork = async (caller) => {
      const facts = createFacts(caller);
      await ledger.hold({ ...facts, amount: "0.5", budget: "1000000", ttlMs: 3_600_000 });
      await ledger.settle({ ...facts, ...SETTLED });
    };
    for (let at = 0; at < EARLY_REQUESTS; at++) await request("caller-0");
    for (const table of ["balances", "holds", "records", "outbox"]) {
      await pool.query(`ANALYZE "${schema}".${table}`);
    }
    say(`PostgreSQL, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${ROUND_MS} ms each in turns; medians`);
    for (const atOnce of [32, 256]) {
      for (const callers of [1000, 1]) {
        const of =
          (work: CallerWork): Work =>
          (at) =>
            work(`caller-${at % callers}`);
        const rates = await compare({ bare, settle: of(settle), request: of(request) }, atOnce);
        const beside = (others: readonly number[]): string =>
          `${medianOf(others).toFixed(0)} (ratio ${medianRatioOf(others, rates.bare).toFixed(2)})`;
        say(
          `${atOnce} at once, ${nameCallers(callers)}, a second: ` +
            `${medianOf(rates.bare).toFixed(0)} bare rows, ${beside(rates.settle)} settlements, ` +
            `${beside(rates.request)} requests of hold and settlement`,
        );
      }
    }
    say(`PostgreSQL, ${SINGLE_REQUESTS} requests one at a time in turns; medians`);
    for (const callers of [1000, 1]) {
      const times = await compareSingly(bareTwice, (at) => request(`caller-${at % callers}`));
      say(
        `one at a time, ${nameCallers(callers)}: ${medianOf(times.bare).toFixed(2)} ms for two bare transactions, ` +
          `${medianOf(times.request).toFixed(2)} ms for hold and settlement ` +
          `(× ${medianRatioOf(times.request, times.bare).toFixed(2)})`,
      );
    }
  } finally {
    await ledger.close();
    await pool.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    await pool.end();
  }
}

const nameCallers = (callers: number): string => (callers === 1 ? "one caller" : `${callers} callers`);

/** The milliseconds that each operation took. No two run at the same time. */
async function compareSingly(bare: Work, request: Work): Promise<Record<"bare" | "request", number[]>> {
  const times = { bare: [] as number[], request: [] as number[] };
  for (let at = 0; at < SINGLE_REQUESTS; at++) {
    times.bare.push(await millisecondsOf(bare, at));
    times.request.push(await millisecondsOf(request, at));
  }
  return times;
}

async function millisecondsOf(work: Work, at: number): Promise<number> {
  const start = performance.now();
  await work(at);
  return performance.now() - start;
}

interface Works<T> {
  readonly bare: T;
  readonly settle: T;
  readonly request: T;
}

/** The rates of each kind of operation, by round. */
async function compare(works: Works<Work>, atOnce: number): Promise<Works<number[]>> {
  const rates: Works<number[]> = { bare: [], settle: [], request: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of ["bare", "settle", "request"] as const) {
      rates[name].push(await rateOf(works[name], atOnce));
    }
  }
  return rates;
}

/** Operations per second with this number in parallel. */
async function rateOf(work: Work, atOnce: number): Promise<number> {
  const start = performance.now();
  let count = 0;
  const workers = Array.from({ length: atOnce }, async () => {
    while (performance.now() - start < ROUND_MS) await work(count++);
  });
  await Promise.all(workers);
  return (count * 1000) / (performance.now() - start);
}

function createFacts(caller: string) {
  return {
    id: randomUUID(),
    time: new Date().toISOString(),
    caller,
    group: "default",
    model: "seedream-4-5-251128",
    operation: "generate",
  } as const;
}

const SETTLED = {
  state: "settled",
  channel: "ark",
  upstreamModel: "doubao-seedream-4-5-251128",
  status: 200,
  images: 1,
  charge: "0.25",
  usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 },
  derivation: {
    pricing_mode: "per-request",
    count: 1,
    count_source: "generated_images",
    model_price: "0.25",
    group_ratio: "1",
    exact: "0.25",
  },
  durationMs: 9000,
  upstreamRequestId: "021769860800000abcdef0123456789abcdef",
} as const;
