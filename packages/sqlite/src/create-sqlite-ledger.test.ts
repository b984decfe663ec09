import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSqliteLedger, type SqliteLedger, type SqliteLedgerOptions } from "./create-sqlite-ledger.js";
import { holdOf, recordOf, START } from "./testing/entries.js";
import { readAll } from "./testing/read-all.js";
import { spawnSource } from "./testing/spawn-source.js";
import { temporaryFile } from "./testing/temporary-file.js";

const LEASE_MS = 30_000;

/** Opens a ledger that is closed after the test. */
function open(options: Partial<SqliteLedgerOptions> = {}): SqliteLedger {
  const ledger = createSqliteLedger({ path: ":memory:", now: () => START, ...options });
  onTestFinished(() => ledger.close());
  return ledger;
}

/** 700 records at each time, which is more than a page. */
const timeOf = (at: number): string => new Date(START + Math.floor(at / 700)).toISOString();
const idsOf = (records: readonly { readonly id: string }[]): string[] => records.map(({ id }) => id);

describe("after a process has ended", () => {
  it("its holds, records, balances and undelivered records are still there", async () => {
    const path = temporaryFile();
    const first = open({ path });
    await first.settle(recordOf({ id: "req_1", charge: "0.1" }));
    await first.settle(recordOf({ id: "req_2", charge: "0.2" }));
    await first.markDelivered([recordOf({ id: "req_1" })]);
    await first.hold(holdOf({ id: "req_3", amount: "0.5" }));
    await first.close();

    const second = open({ path });
    expect(await second.balance("me")).toEqual({ settled: "0.3", held: "0.5" });
    expect(idsOf(await readAll(second))).toEqual(["req_1", "req_2"]);
    expect(idsOf(await second.takeUndelivered(10, 1000))).toEqual(["req_2"]);
    await second.settle(recordOf({ id: "req_3", charge: "0.4" }));
    expect(await second.balance("me")).toEqual({ settled: "0.7", held: "0" });
  });

  it("every write that was started before the ledger was closed is still there", async () => {
    const path = temporaryFile();
    const first = open({ path });
    const settled = Array.from({ length: 600 }, (_, at) => first.settle(recordOf({ id: `req_${at}` })));
    await first.close();

    await Promise.all(settled);
    expect(await readAll(open({ path }))).toHaveLength(600);
  });
});

describe("holds of a process", () => {
  it("that died are lost when its lease has expired, and not before", async () => {
    const path = temporaryFile();
    await spawnSource("hold-and-end.ts", [path, START]).lines;
    let now = START;
    const ledger = open({ path, now: () => now });

    now += LEASE_MS - 1;
    expect(await ledger.sweep({ onLost: "charge" })).toEqual([]);
    now += 1;
    expect(idsOf(await ledger.sweep({ onLost: "charge" }))).toEqual(["req_1"]);
    expect(await ledger.balance("me")).toEqual({ settled: "0.5", held: "0" });
  });

  it("that closed its ledger are lost at once", async () => {
    const path = temporaryFile();
    const closed = open({ path });
    await closed.hold(holdOf({ id: "req_1" }));
    await closed.close();

    expect(idsOf(await open({ path }).sweep({ onLost: "release" }))).toEqual(["req_1"]);
  });

  it("that runs are not ended by another process, not even by one that ends its own holds", async () => {
    const path = temporaryFile();
    const [one, other] = [open({ path }), open({ path })];
    await one.hold(holdOf({ id: "req_1" }));
    await other.hold(holdOf({ id: "req_2" }));

    expect(await other.sweep({ onLost: "release" })).toEqual([]);
    expect(idsOf(await other.sweep({ onLost: "release", own: true }))).toEqual(["req_2"]);
  });

  it("that is idle are not lost, because it renews its lease", async () => {
    const path = temporaryFile();
    const options = { path, now: Date.now, leaseSeconds: 1.5 };
    const [quiet, other] = [open(options), open(options)];
    await quiet.hold(holdOf({ id: "req_1" }));

    await sleep(1_700);
    expect(await other.sweep({ onLost: "release" })).toEqual([]);
  });

  it("that was paused past its lease are not lost if they were made afterwards", async () => {
    const path = temporaryFile();
    let now = START;
    const [sleeper, other] = [open({ path, now: () => now }), open({ path, now: () => now })];
    await sleeper.hold(holdOf({ id: "req_1" }));
    now += LEASE_MS;
    expect(idsOf(await other.sweep({ onLost: "charge" }))).toEqual(["req_1"]);

    await sleeper.hold(holdOf({ id: "req_2" }));
    expect(await other.sweep({ onLost: "charge" })).toEqual([]);
    await sleeper.settle(recordOf({ id: "req_1", charge: "0.3" }));
    expect(await other.balance("me")).toEqual({ settled: "0.3", held: "0.5" });
    expect(await readAll(other)).toEqual([recordOf({ id: "req_1", charge: "0.3", late: true })]);
  });
});

describe("a closed ledger", () => {
  it("may be closed again", async () => {
    const ledger = open();
    await Promise.all([ledger.close(), ledger.close()]);
    await expect(ledger.close()).resolves.toBeUndefined();
  });

  it("rejects every later call", async () => {
    const ledger = open();
    await ledger.close();
    const calls = [
      ledger.hold(holdOf({ id: "req_1" })),
      ledger.settle(recordOf({ id: "req_1" })),
      ledger.release("req_1"),
      ledger.sweep({ onLost: "release" }),
      ledger.takeUndelivered(1, 1),
      ledger.markDelivered([]),
      ledger.balance("me"),
      ledger.totals("day"),
      readAll(ledger),
    ];

    for (const result of await Promise.allSettled(calls)) {
      expect(result).toMatchObject({ reason: new Error("The ledger is closed.") });
    }
  });
});

describe("records", () => {
  it("are read in order, also if many have the same time", async () => {
    const ledger = open();
    const ids = Array.from({ length: 1800 }, (_, at) => `req_${String(at).padStart(4, "0")}`);
    await Promise.all(ids.map((id, at) => ledger.settle(recordOf({ id, time: timeOf(at) }))).toReversed());

    expect(idsOf(await readAll(ledger))).toEqual(ids);
    expect(idsOf(await readAll(ledger, { from: timeOf(700), to: timeOf(1400) }))).toEqual(
      ids.slice(700, 1400),
    );
  });

  it("can be written while others are being read", async () => {
    const ledger = open({ path: temporaryFile() });
    for (const id of ["a", "b"]) await ledger.settle(recordOf({ id }));
    const reader = ledger.records()[Symbol.asyncIterator]();
    await reader.next();
    await ledger.settle(recordOf({ id: "c" }));

    expect((await reader.next()).value).toMatchObject({ id: "b" });
  });
});

describe("money", () => {
  it("is summed exactly, with any number of decimal places", async () => {
    const ledger = open();
    const small = `0.${"0".repeat(40)}1`;
    await ledger.settle(recordOf({ id: "a", charge: "9007199254740993" }));
    await ledger.settle(recordOf({ id: "b", charge: small }));
    await ledger.settle(recordOf({ id: "c", charge: "0.1" }));
    await ledger.settle(recordOf({ id: "d", charge: "0.1" }));
    await ledger.settle(recordOf({ id: "e", charge: "0.10" }));

    const charge = `9007199254740993.3${"0".repeat(39)}1`;
    expect((await ledger.balance("me")).settled).toBe(charge);
    expect(await ledger.totals("model")).toMatchObject([{ key: "seedream", requests: 5, charge }]);
  });

  it.each(["-1", "1e3", "", "NaN", " 1"])(
    "that is not a plain decimal is rejected and changes nothing: %j",
    async (bad) => {
      const ledger = open();
      const results = await Promise.allSettled([
        ledger.hold(holdOf({ id: "req_1", amount: bad })),
        ledger.settle(recordOf({ id: "req_2", charge: bad })),
        ledger.settle(recordOf({ id: "req_3", charge: "0.1" })),
      ]);

      expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
      expect(await ledger.balance("me")).toEqual({ settled: "0.1", held: "0" });
      expect(idsOf(await readAll(ledger))).toEqual(["req_3"]);
    },
  );
});

it.each([0, -1, Number.NaN, Infinity])("a lease of %d seconds is rejected", (leaseSeconds) => {
  expect(() => createSqliteLedger({ path: ":memory:", leaseSeconds })).toThrow("leaseSeconds must be");
});
