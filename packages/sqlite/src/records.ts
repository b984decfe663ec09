import type { DatabaseSync } from "node:sqlite";
import { parseRecord, type UsageRecord } from "@calotype/core/billing";
import { readText } from "./read-column.js";

/** The usage records, one for each id. */
export interface Records {
  has(id: string): boolean;
  find(id: string): UsageRecord | undefined;
  /** Keeps a record, in the place of one of the same id, to be delivered. */
  put(record: UsageRecord): void;
}

/** The records in the database. */
export function createRecords(database: DatabaseSync): Records {
  const selectId = database.prepare("SELECT 1 FROM records WHERE id = ?");
  const select = database.prepare("SELECT record FROM records WHERE id = ?");
  // A replaced record gets a new sequence, so that it is delivered as what it is, the newest.
  const replace = database.prepare(
    `INSERT OR REPLACE INTO records (id, state, time, caller, model, channel, images, charge, record, leased_until)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`,
  );

  return {
    has: (id) => selectId.get(id) !== undefined,
    find: (id) => {
      const row = select.get(id);
      return row && parseRecord(readText(row, "record"));
    },
    put: (record) => {
      const { id, state, caller, model, images, charge } = record;
      const channel = state === "settled" ? record.channel : "";
      const time = Date.parse(record.time);
      replace.run(id, state, time, caller, model, channel, images, charge, JSON.stringify(record));
    },
  };
}
