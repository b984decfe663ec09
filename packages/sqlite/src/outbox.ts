import type { DatabaseSync } from "node:sqlite";
import { type EntryFailure, parseRecord, type UsageRecord } from "@calotype/core/billing";
import { readNumber, readText } from "./read-column.js";

/** Records on their way to the operator. Everything here runs inside a transaction. */
export interface RecordOutbox {
  take(limit: number, leaseMs: number): Taken;
  mark(records: readonly UsageRecord[]): void;
}

/** The leased records, and the leased records that cannot be read. */
interface Taken {
  readonly records: UsageRecord[];
  readonly failures: EntryFailure[];
}

/** Records that are not leased, after a position in the order in which they were stored. */
export const SELECT_UNDELIVERED = `SELECT sequence, id, record FROM records
  WHERE leased_until IS NOT NULL AND leased_until <= ? AND sequence > ? ORDER BY sequence LIMIT ?`;

/** The records of the database that are not marked as delivered. */
export function createOutbox(database: DatabaseSync, now: () => number): RecordOutbox {
  const select = database.prepare(SELECT_UNDELIVERED);
  const lease = database.prepare("UPDATE records SET leased_until = ? WHERE sequence = ?");
  // A record has one version of each state at most.
  const mark = database.prepare("UPDATE records SET leased_until = NULL WHERE id = ? AND state = ?");

  return {
    take: (limit, leaseMs) => {
      const instant = now();
      const taken: Taken = { records: [], failures: [] };
      let behind = 0;
      for (;;) {
        const wanted = limit - taken.records.length;
        const rows = select.all(Math.floor(instant), behind, wanted);
        for (const row of rows) {
          behind = readNumber(row, "sequence");
          lease.run(Math.ceil(instant + leaseMs), behind);
          try {
            taken.records.push(parseRecord(readText(row, "record")));
          } catch (error) {
            taken.failures.push({ id: readText(row, "id"), error });
          }
        }
        // More records are leased in place of those that cannot be read, so that readable records do not wait.
        if (rows.length < wanted || taken.records.length === limit) return taken;
      }
    },
    mark: (records) => {
      for (const { id, state } of records) mark.run(id, state);
    },
  };
}
