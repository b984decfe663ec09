import { setTimeout as pause } from "node:timers/promises";
import type { PostgresLedger } from "@calotype/postgres";
import { createFacts, HELD, SETTLED } from "../ledger-requests.ts";
import { percentileOf } from "../statistics.ts";

/** How long requests took, each a hold and a settlement. In milliseconds. */
export interface WriterTimes {
  readonly requests: number;
  readonly failed: number;
  readonly median: number;
  readonly p99: number;
  readonly slowest: number;
}

const LINES = 8;
const PAUSE_MS = 20;

/** Makes requests while some work runs, one after another in each of eight lines. */
export async function withWriters<T>(
  ledger: PostgresLedger,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly seconds: number; readonly writers: WriterTimes }> {
  const stopping = new AbortController();
  const took: number[] = [];
  const failures: unknown[] = [];
  const lines = Array.from({ length: LINES }, async () => {
    while (!stopping.signal.aborted) {
      const began = performance.now();
      try {
        await makeRequest(ledger);
        took.push(performance.now() - began);
      } catch (error) {
        failures.push(error);
      }
      await pause(PAUSE_MS);
    }
  });
  const began = performance.now();
  try {
    const result = await work();
    const seconds = (performance.now() - began) / 1000;
    stopping.abort();
    await Promise.all(lines);
    if (failures.length > 0) process.stderr.write(`A request failed: ${String(failures[0])}\n`);
    const writers = {
      requests: took.length,
      failed: failures.length,
      median: percentileOf(took, 0.5),
      p99: percentileOf(took, 0.99),
      slowest: percentileOf(took, 1),
    };
    return { result, seconds, writers };
  } finally {
    stopping.abort();
  }
}

/** A hold and a settlement. */
export async function makeRequest(ledger: PostgresLedger): Promise<void> {
  const facts = createFacts("caller-3");
  await ledger.hold({ ...facts, ...HELD });
  await ledger.settle({ ...facts, ...SETTLED });
}
