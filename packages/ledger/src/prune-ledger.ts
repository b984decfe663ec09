import { toInstant } from "@calotype/core/stores";
import { prunePostgresLedger } from "@calotype/postgres";
import { retryWhileBusy } from "@calotype/sqlite/internal";
import type { PostgresAccess } from "./postgres-tables.js";
import { runTransaction, type SqliteAccess } from "./sqlite-tables.js";

/** What is removed. */
export interface PruneOptions {
  /** Records of requests that arrived before this time: ISO 8601 with a zone. */
  readonly before: string;
  /** Whether records that were not delivered yet are removed too. */
  readonly undelivered: boolean;
}

/** How many records one transaction removes, so that gateways wait for some milliseconds only. */
const BATCH = 1_000;
const PATIENCE_MS = 30_000;

/**
 * Removes old records of an SQLite file and returns their number. Balances and totals of hours stay. Records of an older version that
 * are not counted yet stay too.
 */
export async function pruneSqlite(
  { database }: SqliteAccess,
  { before, undelivered }: PruneOptions,
): Promise<number> {
  const instant = toInstant(before, "before");
  // A trigger removes their entries of the outbox.
  const remove = database.prepare(`DELETE FROM records WHERE sequence IN (
    SELECT r.sequence FROM records AS r WHERE r.time < ? AND r.outcome IS NOT NULL
      AND (? OR NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.kind = 'record' AND o.id = r.id))
      ORDER BY r.time LIMIT ${BATCH})`);
  for (let removed = 0; ; ) {
    const changes = await retryWhileBusy(
      () => runTransaction(database, () => Number(remove.run(instant, Number(undelivered)).changes)),
      PATIENCE_MS,
    );
    removed += changes;
    if (changes < BATCH) return removed;
  }
}

/** Removes old records of a PostgreSQL ledger and returns their number. */
export async function prunePostgres(
  { pool }: PostgresAccess,
  schema: string,
  options: PruneOptions,
): Promise<number> {
  return await prunePostgresLedger({ pool, schema, ...options });
}
