import type { HoldResult } from "@calotype/core/billing";
import type { Database, SqlQuery } from "./database.js";
import type { HoldEntry, RecordEntry, ReleaseEntry } from "./entries.js";
import type { Owner } from "./owner.js";
import { type Row, readNumber, readText } from "./read-column.js";
import type { UnsureHolds } from "./unsure-holds.js";

/** Holds and their ends, many in one transaction. No two of one call have the same id. */
export interface Books {
  /** The results are in the order of the holds, which is the order in which the budgets are asked. */
  hold(holds: readonly HoldEntry[]): Promise<readonly HoldResult[]>;
  settle(records: readonly RecordEntry[]): Promise<void>;
  release(releases: readonly ReleaseEntry[]): Promise<void>;
}

/** The dependencies of the books. */
export interface BooksOptions {
  readonly schema: string;
  readonly owner: Owner;
  /** Gets the holds whose statement was sent again. */
  readonly unsureHolds: UnsureHolds;
}

/** The books in a schema. They call the functions of the schema. */
export function createBooks(database: Database, { schema, owner, unsureHolds }: BooksOptions): Books {
  return {
    hold: async (holds) => {
      const refused = await database.call(({ number, msLeft }) => {
        // The first statement may still reach the server, although its connection was lost.
        if (number > 0) for (const hold of holds) unsureHolds.add(hold);
        return toHoldQuery(holds, msLeft);
      });
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
    release: async (releases) => {
      const sure = releases.filter(({ unsureCaller }) => unsureCaller === undefined);
      if (sure.length > 0) {
        const values = [sure.map(({ id }) => id)];
        await database.call(() => ({ sql: `SELECT ${schema}.release($1)`, values }));
      }
      const unsure = releases.filter(({ unsureCaller }) => unsureCaller !== undefined);
      if (unsure.length > 0) {
        const values = [unsure.map(({ id }) => id), unsure.map(({ unsureCaller }) => unsureCaller)];
        await database.call(() => ({ sql: `SELECT ${schema}.release_unsure($1, $2)`, values }));
      }
    },
  };

  function toHoldQuery(holds: readonly HoldEntry[], patienceMs: number): SqlQuery {
    return {
      sql: `SELECT refused, settled_then, held_then
        FROM ${schema}.make_holds($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      values: [
        holds.map(({ id }) => id),
        holds.map(({ caller }) => caller),
        holds.map(({ amount }) => amount),
        holds.map(({ budget }) => budget ?? null),
        holds.map(({ ttlMs }) => ttlMs),
        holds.map(({ text }) => text),
        owner.id,
        owner.leaseMs,
        owner.now(),
        patienceMs,
      ],
    };
  }
}

function toResult(refusal: Row): HoldResult {
  if (refusal === undefined) return { ok: true };
  const balance = { settled: readText(refusal, "settled_then"), held: readText(refusal, "held_then") };
  return { ok: false, balance };
}
