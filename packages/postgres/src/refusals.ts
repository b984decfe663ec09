import { MAX_REFUSALS, MAX_REFUSALS_OF_CALLER, parseRefusal, type RefusalStore } from "@calotype/core/stores";
import { type Database, readText } from "./database.js";

/** What refusals work with. */
export interface RefusalsParts {
  readonly schema: string;
  /** Resolves when the tables can be written to. */
  readonly ready: () => Promise<void>;
}

/** The refused requests in a schema. */
export function createRefusals(database: Database, { schema, ready }: RefusalsParts): RefusalStore {
  return {
    add: async (refusals) => {
      await ready();
      const callers = refusals.map(({ caller = "" }) => caller);
      await database.transact(async (send) => {
        await send({
          sql: `INSERT INTO ${schema}.refusals (id, caller, refusal)
            SELECT i.id, i.caller, i.refusal
              FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS i (id, caller, refusal, place)
              ORDER BY i.place
            ON CONFLICT DO NOTHING`,
          values: [refusals.map(({ id }) => id), callers, refusals.map((refusal) => JSON.stringify(refusal))],
        });
        // Rows that another process removes at the same time are left to it.
        await send({
          sql: `DELETE FROM ${schema}.refusals WHERE sequence IN (
            SELECT r.sequence FROM unnest($1::text[]) AS c (caller)
              CROSS JOIN LATERAL (
                SELECT sequence FROM ${schema}.refusals WHERE caller = c.caller
                  ORDER BY sequence DESC LIMIT 1 OFFSET ${MAX_REFUSALS_OF_CALLER}
              ) newest
              JOIN ${schema}.refusals r ON r.caller = c.caller AND r.sequence <= newest.sequence
              FOR UPDATE OF r SKIP LOCKED)`,
          values: [[...new Set(callers)]],
        });
        await send({
          sql: `DELETE FROM ${schema}.refusals WHERE sequence IN (
            SELECT sequence FROM ${schema}.refusals WHERE sequence <= (
              SELECT sequence FROM ${schema}.refusals ORDER BY sequence DESC LIMIT 1 OFFSET ${MAX_REFUSALS}
            ) FOR UPDATE SKIP LOCKED)`,
          values: [],
        });
      });
    },
    find: async (id) => {
      await ready();
      const [row] = await database.run({
        sql: `SELECT refusal FROM ${schema}.refusals WHERE id = $1`,
        values: [id],
      });
      return row && parseRefusal(readText(row, "refusal"));
    },
    list: async ({ from = null, to = null, caller = null, model = null, limit }) => {
      await ready();
      const selected = `FROM ${schema}.refusals WHERE ($1::text IS NULL OR caller = $1)
        AND ($2::text IS NULL OR refusal::json->>'time' >= $2)
        AND ($3::text IS NULL OR refusal::json->>'time' < $3)
        AND ($4::text IS NULL OR refusal::json->>'model' = $4)`;
      const filter = [caller, from, to, model];
      const newest = await database.run({
        sql: `SELECT refusal ${selected} ORDER BY sequence DESC LIMIT $5`,
        values: [...filter, limit],
      });
      const counted = await database.run({
        sql: `SELECT refusal::json->>'status' AS status, refusal::json->>'code' AS code, count(*)::text AS requests
          ${selected} GROUP BY 1, 2 ORDER BY count(*) DESC`,
        values: filter,
      });
      return {
        refusals: newest.map((row) => parseRefusal(readText(row, "refusal"))),
        counts: counted.map((row) => ({
          status: Number(readText(row, "status")),
          code: readText(row, "code"),
          requests: Number(readText(row, "requests")),
        })),
      };
    },
  };
}
