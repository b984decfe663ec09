import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSqliteLedger } from "@calotype/sqlite";
import { createFacts, HELD, SETTLED } from "../ledger-requests.ts";
import { medianOf } from "../statistics.ts";

const ALONE = 300;
const ROUNDS = 5;
const ROUND_MS = 1000;

/** The results of a run. A request is a hold and a settlement. */
export interface SqliteResults {
  /** Median milliseconds of a request that runs alone. */
  readonly aloneMs: number;
  readonly rates: readonly { readonly atOnce: number; readonly perSecond: number }[];
  /** With its indexes. */
  readonly bytesPerRecord: number;
}

/** Measures requests in a new file in the temporary folder. */
export async function measureSqlite(): Promise<SqliteResults> {
  const folder = mkdtempSync(join(tmpdir(), "calotype-bench-sqlite-"));
  const path = join(folder, "ledger.db");
  const ledger = createSqliteLedger({ path });
  try {
    let count = 0;
    const request = async (): Promise<void> => {
      const facts = createFacts(`caller-${count++ % 1000}`);
      await ledger.hold({ ...facts, ...HELD });
      await ledger.settle({ ...facts, ...SETTLED });
    };
    const took: number[] = [];
    for (let at = 0; at < ALONE; at++) {
      const began = performance.now();
      await request();
      took.push(performance.now() - began);
    }
    const rates = [];
    for (const atOnce of [32, 256]) {
      const rounds: number[] = [];
      for (let round = 0; round < ROUNDS; round++) rounds.push(await rateOf(request, atOnce));
      rates.push({ atOnce, perSecond: Math.round(medianOf(rounds)) });
    }
    // Writes the log of the database into its file.
    await ledger.close();
    const bytesPerRecord = Math.round(statSync(path).size / count);
    return { aloneMs: Number(medianOf(took).toFixed(2)), rates, bytesPerRecord };
  } finally {
    await ledger.close();
    rmSync(folder, { recursive: true });
  }
}

/** Operations per second with this number in parallel. */
async function rateOf(work: () => Promise<unknown>, atOnce: number): Promise<number> {
  const began = performance.now();
  let count = 0;
  const line = async (): Promise<void> => {
    while (performance.now() - began < ROUND_MS) {
      await work();
      count++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, line));
  return (count * 1000) / (performance.now() - began);
}
