import type { HoldResult } from "@calotype/core/billing";
import type { Database } from "./database.js";
import type { HoldEntry, RecordEntry } from "./entries.js";
import type { Owner } from "./owner.js";
import { type Row, readNumber, readText } from "./read-column.js";

/** Holds and their ends, many in one transaction. No two of one call have the same id. */
export interface Books {
  /** The results are in the order of the holds, which is the order in which the budgets are asked. */
  hold(holds: readonly HoldEntry[]): Promise<readonly HoldResult[]>;
  settle(records: readonly RecordEntry[]): Promise<void>;
  release(ids: readonly string[]): Promise<void>;
}

/** The books in a schema, by the functions that stand there. */
export function createBooks(database: Database, { schema, owner }: { schema: string; owner: Owner }): Books {
  return {
    hold: async (holds) => {
      const refused = await database.call(({ msLeft }) => ({
        sql: `SELECT refused, settled_then, held_then FROM ${schema}.hold($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
        values: [
          holds.map(({ id }) => id),
          holds.map(({ caller }) => caller),
          holds.map(({ amount }) => amount),
          holds.map(({ budget }) => budget ?? null),
          holds.map(({ expiresAt }) => expiresAt),
          holds.map(({ text }) => text),
          owner.id,
          owner.leaseMs,
          owner.now(),
          msLeft,
        ],
      }));
      const byPlace = new Map(refused.map((row) => [readNumber(row, "refused"), row]));
      return holds.map((_, at) => toResult(byPlace.get(at + 1)));
    },
    settle: async (records) => {
      await database.call(() => ({
        sql: `SELECT ${schema}.settle($1, $2, $3, $4, $5, $6, $7, $8)`,
        values: [
          records.map(({ id }) => id),
          records.map(({ instant }) => instant),
          records.map(({ caller }) => caller),
          records.map(({ model }) => model),
          records.map(({ channel }) => channel),
          records.map(({ images }) => images),
          records.map(({ charge }) => charge),
          records.map(({ text }) => text),
        ],
      }));
    },
    release: async (ids) => {
      await database.call(() => ({ sql: `SELECT ${schema}.release($1)`, values: [ids] }));
    },
  };
}

function toResult(refusal: Row): HoldResult {
  if (refusal === undefined) return { ok: true };
  const balance = { settled: readText(refusal, "settled_then"), held: readText(refusal, "held_then") };
  return { ok: false, balance };
}
