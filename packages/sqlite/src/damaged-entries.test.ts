import { DatabaseSync } from "node:sqlite";
import type { EntryFailure } from "@calotype/core/stores";
import { expect, it } from "vitest";
import { createSqliteLedger } from "./create-sqlite-ledger.js";
import { holdOf, recordOf, START } from "./testing/entries.js";
import { readAll } from "./testing/read-all.js";
import { temporaryFile } from "./testing/temporary-file.js";

/** Changes the file with another connection. */
function change(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

function count(path: string, table: string): unknown {
  const database = new DatabaseSync(path);
  const row = database.prepare(`SELECT count(*) AS count FROM ${table}`).get();
  database.close();
  return row?.["count"];
}

it("if some holds cannot be parsed, the others are swept, dead owners removed, and each failure is reported", async () => {
  const path = temporaryFile();
  let now = START;
  const open = () => createSqliteLedger({ path, now: () => now, leaseSeconds: 10 });
  const [ledger, dead] = [open(), open()];
  for (let at = 1; at <= 4; at++) await ledger.hold(holdOf({ id: `req_${at}`, ttlMs: 0 }));
  await dead.hold(holdOf({ id: "req_5" }));
  change(
    path,
    `UPDATE holds SET hold = '{' WHERE id = 'req_1'; UPDATE holds SET hold = '{}' WHERE id = 'req_3'`,
  );
  now += 11_000;
  const failures: EntryFailure[] = [];
  const swept = await ledger.sweep({ onLost: "charge", onFailure: (failure) => failures.push(failure) });

  expect(swept.map(({ id }) => id)).toEqual(["req_2", "req_4", "req_5"]);
  expect(failures.map(({ id }) => id).toSorted()).toEqual(["req_1", "req_3"]);
  expect(count(path, "owners")).toBe(1);
  expect(await ledger.takeUndelivered(9, 0)).toHaveLength(3);
  await expect(ledger.sweep({ onLost: "charge" })).rejects.toThrow(/^2 lost holds cannot be ended: req_/);
  await Promise.all([ledger.close(), dead.close()]);
});

it("if some records cannot be parsed, the others are delivered, up to the requested number", async () => {
  const path = temporaryFile();
  const ledger = createSqliteLedger({ path, now: () => START });
  for (let at = 1; at <= 6; at++) await ledger.settle(recordOf({ id: `req_${at}` }));
  change(path, `UPDATE records SET record = 'damaged' WHERE id IN ('req_1', 'req_2', 'req_4')`);
  const unreadable: string[] = [];
  const take = async (limit: number, leaseMs: number) =>
    (await ledger.takeUndelivered(limit, leaseMs, ({ id }) => unreadable.push(id))).map(({ id }) => id);

  expect(await take(2, 0)).toEqual(["req_3", "req_5"]);
  expect(unreadable).toEqual(["req_1", "req_2", "req_4"]);
  expect(await take(2, 1000)).toEqual(["req_3", "req_5"]);
  expect(await take(2, 1000)).toEqual(["req_6"]);
  await expect(readAll(ledger)).rejects.toThrow("A stored usage record is damaged.");
  await ledger.close();
});

it("a file of 0.1.0 keeps its holds, and they can be ended", async () => {
  const path = temporaryFile();
  const older = createSqliteLedger({ path, now: () => START });
  for (const id of ["a", "b", "c"]) await older.hold(holdOf({ id }));
  // Version 0.1.0 stored the time at which a hold ends, not its duration.
  change(path, `UPDATE holds SET hold = json_set(json_remove(hold, '$.ttlMs'), '$.expiresAt', ${START})`);
  await older.close();
  const ledger = createSqliteLedger({ path, now: () => START });
  await ledger.settle(recordOf({ id: "a", charge: "0.2" }));
  await ledger.release("b");

  expect(await ledger.sweep({ onLost: "charge" })).toMatchObject([{ id: "c", charge: "0.5" }]);
  expect(await ledger.balance("me")).toEqual({ settled: "0.7", held: "0" });
  await ledger.close();
});

/** The record of a request as version 0.1.0 wrote it. */
const EARLIER_RECORD = {
  state: "settled",
  id: "old",
  time: "2026-01-31T12:00:00.000Z",
  caller: "me",
  group: "vip",
  model: "seedream",
  upstreamModel: "ep-1",
  channel: "ark-1",
  operation: "generate",
  status: 200,
  images: 4,
  charge: "0.8",
  durationMs: 41_230,
  usage: { generated_images: 4, output_tokens: 65_536, total_tokens: 65_536 },
  derivation: {
    pricing_mode: "per-request",
    count: 4,
    count_source: "generated_images",
    model_price: "0.25",
    group_ratio: "0.8",
    exact: "0.8",
  },
};

it("a record of 0.1.0 stays readable beside records with prices by dimension", async () => {
  const path = temporaryFile();
  const ledger = createSqliteLedger({ path, now: () => START });
  await ledger.settle(recordOf({ id: "old", images: 4, charge: "0.8" }));
  change(path, `UPDATE records SET record = '${JSON.stringify(EARLIER_RECORD)}' WHERE id = 'old'`);
  const derivation = { pricing_mode: "per-request", lines: [], group_ratio: "1", exact: "0.3" } as const;
  await ledger.settle(recordOf({ id: "req_1", derivation }));

  expect(await readAll(ledger)).toEqual([EARLIER_RECORD, recordOf({ id: "req_1", derivation })]);
  expect(await ledger.takeUndelivered(1, 0)).toEqual([EARLIER_RECORD]);
  expect(await ledger.totals("caller")).toMatchObject([{ requests: 2, images: 5, charge: "1.1" }]);
  await ledger.close();
});
