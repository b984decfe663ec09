import type { DatabaseSync } from "node:sqlite";
import { MAX_REFUSALS, MAX_REFUSALS_OF_CALLER, parseRefusal, type RefusalStore } from "@calotype/core/stores";
import type { CallersContext } from "./callers.js";
import { readText } from "./read-column.js";

/** The refused requests in the database of a ledger. */
export function createRefusals(
  database: DatabaseSync,
  { read, write }: Pick<CallersContext, "read" | "write">,
): RefusalStore {
  const insert = database.prepare(
    "INSERT INTO refusals (id, caller, refusal) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const prune = database.prepare(
    `DELETE FROM refusals WHERE sequence <= (
      SELECT sequence FROM refusals ORDER BY sequence DESC LIMIT 1 OFFSET ${MAX_REFUSALS})`,
  );
  const pruneCaller = database.prepare(
    `DELETE FROM refusals WHERE caller = :caller AND sequence <= (
      SELECT sequence FROM refusals WHERE caller = :caller
        ORDER BY sequence DESC LIMIT 1 OFFSET ${MAX_REFUSALS_OF_CALLER})`,
  );
  const select = database.prepare("SELECT refusal FROM refusals WHERE id = ?");
  const selected = `FROM refusals WHERE (:caller IS NULL OR caller = :caller)
    AND (:from IS NULL OR json_extract(refusal, '$.time') >= :from)
    AND (:to IS NULL OR json_extract(refusal, '$.time') < :to)
    AND (:model IS NULL OR json_extract(refusal, '$.model') = :model)`;
  const newest = database.prepare(`SELECT refusal ${selected} ORDER BY sequence DESC LIMIT :limit`);
  const counted = database.prepare(
    `SELECT json_extract(refusal, '$.status') AS status, json_extract(refusal, '$.code') AS code, count(*) AS requests
      ${selected} GROUP BY 1, 2 ORDER BY requests DESC`,
  );
  return {
    add: async (refusals) =>
      await write(() => {
        for (const refusal of refusals) {
          insert.run(refusal.id, refusal.caller ?? "", JSON.stringify(refusal));
        }
        for (const caller of new Set(refusals.map((refusal) => refusal.caller ?? ""))) {
          pruneCaller.run({ caller });
        }
        prune.run();
      }),
    find: async (id) =>
      await read(() => {
        const row = select.get(id);
        return row && parseRefusal(readText(row, "refusal"));
      }),
    list: async ({ from = null, to = null, caller = null, model = null, limit }) =>
      await read(() => {
        const filter = { from, to, caller, model };
        return {
          refusals: newest.all({ ...filter, limit }).map((row) => parseRefusal(readText(row, "refusal"))),
          counts: counted.all(filter).map((row) => ({
            status: Number(row["status"]),
            code: readText(row, "code"),
            requests: Number(row["requests"]),
          })),
        };
      }),
  };
}
