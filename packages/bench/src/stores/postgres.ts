import { randomUUID } from "node:crypto";
import { createPostgresLedger } from "@calotype/postgres";
import { Pool } from "pg";
import { medianOf, medianRatioOf } from "../statistics.ts";

const CONNECTIONS = 20;
const ROUNDS = 5;
const ROUND_MS = 1000;

/** One thing that many do at once; a number tells which of all. */
type Work = (at: number) => Promise<unknown>;

/**
 * Hold and settle on PostgreSQL beside the least that can be written durably there: one row in a transaction of its
 * own, over the same pool. In turns, so that what slows the machine slows both.
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
    const bare: Work = () => pool.query(insert, [randomUUID(), "0.25"]);
    const request =
      (callers: number): Work =>
      async (at) => {
        const facts = createFacts(`caller-${at % callers}`);
        await ledger.hold({ ...facts, amount: "0.5", budget: "1000000", expiresAt: Date.now() + 3_600_000 });
        await ledger.settle({ ...facts, ...SETTLED });
      };
    say(`PostgreSQL, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${ROUND_MS} ms each in turns; medians`);
    for (const atOnce of [32, 256]) {
      for (const callers of [1000, 1]) {
        const rates = await compare(bare, request(callers), atOnce);
        say(
          `${atOnce} at once, ${callers === 1 ? "one caller" : `${callers} callers`}: ` +
            `${medianOf(rates.bare).toFixed(0)} bare rows/s, ${medianOf(rates.requests).toFixed(0)} requests/s ` +
            `(hold and settle), ratio ${medianRatioOf(rates.requests, rates.bare).toFixed(2)}`,
        );
      }
    }
  } finally {
    await ledger.close();
    await pool.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    await pool.end();
  }
}

async function compare(
  bare: Work,
  request: Work,
  atOnce: number,
): Promise<{ bare: number[]; requests: number[] }> {
  const rates = { bare: [] as number[], requests: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    rates.bare.push(await rateOf(bare, atOnce));
    rates.requests.push(await rateOf(request, atOnce));
  }
  return rates;
}

/** How often a second it is done, by so many at once. */
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
