import type { DatabaseSync } from "node:sqlite";
import type { UsageRecord } from "@calotype/core/billing";
import { readText } from "./read-column.js";
import { toRecord } from "./records.js";

/** Records on their way to the operator. Everything here runs inside a transaction. */
export interface RecordOutbox {
  take(limit: number, leaseMs: number): UsageRecord[];
  mark(records: readonly UsageRecord[]): void;
}

/** Those that nobody has, in the order in which they were kept. */
export const SELECT_UNDELIVERED = `SELECT record FROM records
  WHERE leased_until IS NOT NULL AND leased_until <= ? ORDER BY sequence LIMIT ?`;

/** The records of the database that are not marked as delivered. */
export function createOutbox(database: DatabaseSync, now: () => number): RecordOutbox {
  const select = database.prepare(SELECT_UNDELIVERED);
  const lease = database.prepare("UPDATE records SET leased_until = ? WHERE id = ?");
  // A record has two versions at most, the unresolved one and the settled one that took its place.
  const mark = database.prepare("UPDATE records SET leased_until = NULL WHERE id = ? AND state = ?");

  return {
    take: (limit, leaseMs) => {
      const instant = now();
      const records = select.all(Math.floor(instant), limit).map((row) => toRecord(readText(row, "record")));
      for (const { id } of records) lease.run(Math.ceil(instant + leaseMs), id);
      return records;
    },
    mark: (records) => {
      for (const { id, state } of records) mark.run(id, state);
    },
  };
}
