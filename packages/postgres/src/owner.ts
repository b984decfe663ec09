import { randomUUID } from "node:crypto";
import { type Database, toClock } from "./database.js";

/** The owner of the holds that this ledger object makes. The first hold stores the owner in the database. */
export interface Owner {
  readonly id: string;
  readonly leaseMs: number;
  /** Milliseconds since 1970, or `null` for the clock of the database. */
  now(): number | null;
  /** Renews the lease of this process. */
  renew(): Promise<void>;
  /** Ends the lease of this process, so that its holds are lost. */
  leave(): Promise<void>;
}

/** Where an owner is stored, and how long its lease lasts. */
export interface OwnerOptions {
  readonly schema: string;
  readonly leaseMs: number;
  readonly now: () => number | null;
}

/** Creates an owner that is not stored yet. */
export function createOwner(database: Database, { schema, leaseMs, now }: OwnerOptions): Owner {
  const id = randomUUID();
  return {
    id,
    leaseMs,
    now,
    renew: async () => {
      await database.run({
        sql: `UPDATE ${schema}.owners SET alive_until = ${toClock("$1")} + $2::float8 * interval '1 millisecond'
          WHERE id = $3`,
        values: [now(), leaseMs, id],
      });
    },
    leave: async () => {
      await database.run({ sql: `DELETE FROM ${schema}.owners WHERE id = $1`, values: [id] });
    },
  };
}

/** Renews three times per lease, without keeping the process alive. Returns the function that stops this. */
export function renewRegularly(leaseMs: number, renew: () => Promise<void>): () => void {
  let isRenewing = false;
  const end = (): void => {
    isRenewing = false;
  };
  const timer = setInterval(() => {
    // Only one renewal at a time, so that renewals do not accumulate if the database is slow.
    if (isRenewing) return;
    isRenewing = true;
    // After a renewal that failed, the next renewal or the next hold renews the lease.
    renew().then(end, end);
  }, leaseMs / 3);
  timer.unref();
  return () => clearInterval(timer);
}
