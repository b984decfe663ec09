import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { readNumber } from "./read-column.js";

/** The owner of the holds that this ledger object makes. */
export interface Owner {
  readonly id: string;
  /** Renews the lease of this process. */
  renew(): void;
  /**
   * Renews the lease if half of it has passed. Every hold calls this, because the process may have been paused for
   * longer than its lease.
   */
  renewWhenDue(): void;
  /** Ends the lease of this process, so that its holds are lost. */
  leave(): void;
}

/** The clock and the length of a lease. */
export interface LeaseOptions {
  readonly now: () => number;
  readonly leaseMs: number;
}

/** Creates an owner. Its lease begins with the first `renew`. */
export function createOwner(database: DatabaseSync, { now, leaseMs }: LeaseOptions): Owner {
  const id = randomUUID();
  const select = database.prepare("SELECT alive_until FROM owners WHERE id = ?");
  const upsert = database.prepare(
    `INSERT INTO owners (id, alive_until) VALUES (?, ?)
     ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until`,
  );
  const remove = database.prepare("DELETE FROM owners WHERE id = ?");

  const renew = (): void => void upsert.run(id, Math.ceil(now() + leaseMs));
  const renewWhenDue = (): void => {
    // Read from the database, not from a variable, because a transaction that fails also undoes the renewal.
    const row = select.get(id);
    if (row === undefined || readNumber(row, "alive_until") - now() < leaseMs / 2) renew();
  };
  return { id, renew, renewWhenDue, leave: () => void remove.run(id) };
}

/** Renews three times per lease, without keeping the process alive. Returns the function that stops this. */
export function renewRegularly(leaseSeconds: number, renew: () => Promise<void>): () => void {
  const timer = setInterval(
    () => {
      // After a renewal that failed, the next renewal or the next hold renews the lease.
      renew().catch(() => undefined);
    },
    (leaseSeconds * 1000) / 3,
  );
  timer.unref();
  return () => clearInterval(timer);
}
