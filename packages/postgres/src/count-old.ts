import { parseRecord, readFacts, type UsageFacts } from "@calotype/core/stores";
import { type Database, type Row, readText } from "./database.js";

/** Counts the records that processes of older versions stored. */
export interface OldCounter {
  /** Looks for such records, and begins to count them without being waited for. */
  start(): Promise<void>;
  /** Resolves when all are counted, or after {@link stop}. Calls during the work share it. */
  run(): Promise<void>;
  stop(): void;
  /** Resolves when nothing is being counted. */
  settled(): Promise<void>;
}

/** How many records one transaction counts. It locks the balances of their callers for about 50 ms. */
const BATCH = 500;

/** Creates the counter of a schema. */
export function createOldCounter(database: Database, schema: string): OldCounter {
  let counting: Promise<void> | undefined;
  const stopping = new AbortController();

  const select = async (): Promise<readonly Row[]> =>
    await database.run({
      sql: `SELECT id, state, record::text AS record FROM ${schema}.records WHERE outcome IS NULL
        ORDER BY time DESC LIMIT ${BATCH}`,
      values: [],
    });
  const count = async (rows: readonly Row[]): Promise<void> => {
    const facts = rows.map(readOldFacts);
    await database.call(() => ({
      sql: `SELECT ${schema}.count_old($1, $2, $3, $4)`,
      values: [
        rows.map((row) => readText(row, "id")),
        facts.map(({ outcome }) => outcome),
        facts.map(({ durationMs }) => durationMs),
        facts.map(({ tokens }) => tokens),
      ],
    }));
  };
  const run = async (first?: readonly Row[]): Promise<void> => {
    let rows = first ?? (await select());
    while (rows.length > 0 && !stopping.signal.aborted) {
      await count(rows);
      rows = await select();
    }
  };
  const runOnce = async (first?: readonly Row[]): Promise<void> => {
    counting ??= run(first).finally(() => {
      counting = undefined;
    });
    await counting;
  };
  return {
    start: async () => {
      const rows = await select();
      // If it fails, the next report that needs it tries again and gets the error.
      if (rows.length > 0) runOnce(rows).catch(() => undefined);
    },
    run: async () => await runOnce(),
    stop: () => stopping.abort(),
    settled: async () => void (await Promise.allSettled([counting])),
  };
}

/** A record that cannot be read counts as failed, without a duration. */
function readOldFacts(row: Row): UsageFacts {
  try {
    return readFacts(parseRecord(readText(row, "record")));
  } catch {
    // A damaged record must not keep the others from being counted. Readers of records report it.
    const state = readText(row, "state");
    const outcome = state === "unresolved" || state === "released" ? state : "failed";
    return { outcome, durationMs: null, tokens: 0 };
  }
}
