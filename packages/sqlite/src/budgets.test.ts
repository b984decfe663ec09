import { expect, it } from "vitest";
import { createSqliteLedger } from "./create-sqlite-ledger.js";
import { holdOf, recordOf, START } from "./testing/entries.js";
import { spawnSource } from "./testing/spawn-source.js";
import { temporaryFile } from "./testing/temporary-file.js";

it("two ledgers on one file share a budget exactly", async () => {
  const path = temporaryFile();
  const ledgers = [createSqliteLedger({ path }), createSqliteLedger({ path })];

  const results = await Promise.all(
    Array.from({ length: 100 }, async (_, at) => {
      const ledger = ledgers[at % 2];
      return await ledger?.hold(holdOf({ id: `req_${at}`, amount: "0.1", budget: "3" }));
    }),
  );

  expect(results.filter((result) => result?.ok)).toHaveLength(30);
  expect(results.find((result) => result?.ok === false)).toEqual({
    ok: false,
    balance: { settled: "0", held: "3" },
  });
  await Promise.all(ledgers.map((ledger) => ledger.close()));
});

it("two ledgers on one file end each lost hold once, and deliver each record once", async () => {
  const path = temporaryFile();
  let now = START;
  const ledgers = [0, 1].map(() => createSqliteLedger({ path, now: () => now }));
  const ids = Array.from({ length: 40 }, (_, at) => `req_${at}`);
  for (const id of ids) await ledgers[0]?.hold(holdOf({ id, amount: "0.1", ttlMs: 1 }));
  now++;

  const swept = await Promise.all(ledgers.map((ledger) => ledger.sweep({ onLost: "charge" })));
  expect(
    swept
      .flat()
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(ids.toSorted());
  const taken = await Promise.all(ledgers.map((ledger) => ledger.takeUndelivered(25, 1000)));
  expect(taken.map((records) => records.length)).toEqual(expect.arrayContaining([15, 25]));
  expect(new Set(taken.flat().map(({ id }) => id)).size).toBe(40);
  expect(await ledgers[1]?.balance("me")).toEqual({ settled: "4", held: "0" });
  await Promise.all(ledgers.map((ledger) => ledger.close()));
});

it("four processes use up a budget exactly and never overdraw it", async () => {
  const path = temporaryFile();
  const processes = ["a", "b", "c", "d"].map((name) => spawnSource("spend-budget.ts", [path, name, "70"]));
  const granted = (await Promise.all(processes.map(({ lines }) => lines))).flat().map(Number);

  // 1,000 holds of 0.1 were tried.
  expect(granted).toHaveLength(4);
  expect(granted.reduce((sum, count) => sum + count, 0)).toBe(700);
  const ledger = createSqliteLedger({ path });
  const { settled, held } = await ledger.balance("me");
  expect(Math.round(Number(settled) * 10) + Math.round(Number(held) * 10)).toBe(700);
  await ledger.sweep({ onLost: "charge" });
  expect(await ledger.balance("me")).toEqual({ settled: "70", held: "0" });
  await ledger.close();
});

it("the event loop is not blocked while a write waits for another process's transaction", async () => {
  const path = temporaryFile();
  const ledger = createSqliteLedger({ path });
  const other = spawnSource("keep-locked.ts", [path, 300]);
  await other.started;
  const ticks: number[] = [];
  const timer = setInterval(() => ticks.push(performance.now()), 10);
  const began = performance.now();
  await ledger.settle(recordOf({ id: "req_1", time: new Date(START).toISOString() }));
  clearInterval(timer);

  expect(performance.now() - began).toBeGreaterThan(100);
  expect(ticks.length).toBeGreaterThan(5);
  await ledger.close();
  await other.lines;
});
