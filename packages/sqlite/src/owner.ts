import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { readNumber } from "./read-column.js";

/** This ledger object, as the holds that it makes name it. */
export interface Owner {
  readonly id: string;
  /** Says that this process lives, for the length of the lease. */
  renew(): void;
  /** The same where it is due. A hold calls it: the process may have slept past its lease. */
  renewWhenDue(): void;
  /** Says that this process ends. */
  leave(): void;
}

/** How long a sign of life counts. */
export interface LeaseOptions {
  readonly now: () => number;
  readonly leaseMs: number;
}

/** Makes the owner known; it is alive from here. */
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
    // Read from the database and not kept beside it: a transaction that fails takes the renewal with it.
    const row = select.get(id);
    if (row === undefined || readNumber(row, "alive_until") - now() < leaseMs / 2) renew();
  };
  return { id, renew, renewWhenDue, leave: () => void remove.run(id) };
}

/** Renews three times in a lease, without keeping the process alive. Gives what stops it. */
export function renewRegularly(leaseSeconds: number, renew: () => Promise<void>): () => void {
  const timer = setInterval(
    () => {
      // A renewal that fails is made up for by the next one, or by the next hold.
      renew().catch(() => undefined);
    },
    (leaseSeconds * 1000) / 3,
  );
  timer.unref();
  return () => clearInterval(timer);
}
