import { describe, expect, it } from "vitest";
import type { HoldRecord, SettledRecord, UsageRecord } from "../../billing/records.js";
import { measureHeap } from "../../testing/measure-heap.js";
import type { Ledger } from "../usage/usage-reports.js";
import { createMemoryLedger } from "./memory-ledger.js";

// What every ledger does is tested in packages/conformance; here, what is this one's own.

const facts = { group: "default", model: "seedream", operation: "generate" } as const;

const holdOf = (id: string, rest: Partial<HoldRecord> = {}): HoldRecord => ({
  ...facts,
  id,
  time: "2026-01-31T12:00:00.000Z",
  caller: "me",
  amount: "0.5",
  ttlMs: 3_600_000,
  ...rest,
});

const recordOf = (id: string, rest: Partial<SettledRecord> = {}): SettledRecord => ({
  ...facts,
  state: "settled",
  id,
  time: "2026-01-31T12:00:00.000Z",
  caller: "me",
  channel: "ark-1",
  upstreamModel: "ep-1",
  status: 200,
  images: 1,
  charge: "0.1",
  durationMs: 1_500,
  ...rest,
});

async function idsOf(ledger: Ledger): Promise<string> {
  const records: UsageRecord[] = [];
  for await (const record of ledger.records()) records.push(record);
  return records.map(({ id }) => id).join("");
}

/** Settles a request for each letter. */
async function settleAll(ledger: Ledger, ids: string): Promise<void> {
  for (const id of ids) await ledger.settle(recordOf(id));
}

describe("a memory ledger that is full", () => {
  it("drops the oldest record", async () => {
    const ledger = createMemoryLedger({ maxRecords: 3 });
    await settleAll(ledger, "abcde");

    expect(await idsOf(ledger)).toBe("cde");
    expect(await ledger.totals("caller")).toMatchObject([{ requests: 3, charge: "0.3" }]);
  });

  it("drops delivered records before leased ones, and leased ones before waiting ones", async () => {
    const ledger = createMemoryLedger({ maxRecords: 4 });
    await settleAll(ledger, "ab");
    await ledger.takeUndelivered(1, 60_000);
    await ledger.markDelivered([recordOf("b")]);
    await settleAll(ledger, "cd");

    await settleAll(ledger, "e");
    expect(await idsOf(ledger)).toBe("acde");
    await settleAll(ledger, "f");
    expect(await idsOf(ledger)).toBe("cdef");
    await settleAll(ledger, "g");
    expect(await idsOf(ledger)).toBe("defg");
  });

  it("drops the record that was delivered first", async () => {
    const ledger = createMemoryLedger({ maxRecords: 3 });
    await settleAll(ledger, "abc");
    for (const id of "cab") await ledger.markDelivered([recordOf(id)]);
    await settleAll(ledger, "d");

    expect(await idsOf(ledger)).toBe("abd");
  });

  it("keeps balances exact: dropped records still count", async () => {
    const ledger = createMemoryLedger({ maxRecords: 1 });
    for (let at = 0; at < 100; at++)
      await ledger.settle(recordOf(`req_${at}`, { caller: `caller_${at % 3}` }));

    expect(await ledger.balance("caller_0")).toEqual({ settled: "3.4", held: "0" });
    expect(
      await ledger.hold(holdOf("more", { caller: "caller_1", amount: "0.8", budget: "4" })),
    ).toMatchObject({
      ok: false,
    });
  });

  it("drops no record to replace one", async () => {
    const ledger = createMemoryLedger({ maxRecords: 2 });
    await ledger.hold(holdOf("a"));
    await ledger.sweep({ onLost: "charge", own: true });
    await settleAll(ledger, "b");
    await settleAll(ledger, "a");

    expect(await idsOf(ledger)).toBe("ab");
    expect(await ledger.balance("me")).toEqual({ settled: "0.2", held: "0" });
  });

  it("drops no open hold", async () => {
    const ledger = createMemoryLedger({ maxRecords: 1 });
    for (const id of "abc") await ledger.hold(holdOf(id));
    await settleAll(ledger, "xyz");

    expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "1.5" });
    expect(await ledger.sweep({ onLost: "release", own: true })).toHaveLength(3);
  });

  it("forgets a delivery whose record it dropped", async () => {
    const ledger = createMemoryLedger({ maxRecords: 1 });
    await settleAll(ledger, "a");
    const taken = await ledger.takeUndelivered(1, 0);
    await settleAll(ledger, "b");
    await ledger.markDelivered(taken);

    expect(await ledger.takeUndelivered(9, 0)).toEqual([recordOf("b")]);
  });

  it("takes no more memory, however many records it has dropped", async () => {
    const ledger = createMemoryLedger({ maxRecords: 100 });
    const settleMany = async (from: number): Promise<number> => {
      for (let id = from; id < from + 20_000; id++) {
        await ledger.settle(recordOf(String(id)));
        await ledger.markDelivered(await ledger.takeUndelivered(1, 60_000));
      }
      return measureHeap();
    };
    const before = await settleMany(0);
    expect((await settleMany(20_000)) - before).toBeLessThan(1024 * 1024);
  });

  it.each([0, -1, 1.5, Number.NaN, Infinity])("may not be of %s records", (maxRecords) => {
    expect(() => createMemoryLedger({ maxRecords })).toThrow(/^maxRecords must be/);
  });
});

/** As somebody does who takes what is not theirs for their own. */
function spoil(record: UsageRecord | undefined): void {
  if (record?.state !== "settled") throw new TypeError("No record to spoil.");
  Object.assign(record.usage ?? {}, { generated_images: 9 });
  Object.assign(record.derivation ?? {}, { count: 9 });
  Object.assign(record, { charge: "9", caller: "other" });
}

describe("what goes into a memory ledger and comes out of it", () => {
  const whole = recordOf("a", {
    usage: { generated_images: 1 },
    derivation: {
      pricing_mode: "per-request",
      count: 1,
      count_source: "generated_images",
      model_price: "0.1",
      group_ratio: "1",
      exact: "0.1",
    },
  });

  it("cannot be changed from outside", async () => {
    const ledger = createMemoryLedger();
    const settled = structuredClone(whole);
    await ledger.settle(settled);
    spoil(settled);
    const [taken] = await ledger.takeUndelivered(1, 0);
    expect(taken).toEqual(whole);
    spoil(taken);
    const { value: read } = await ledger.records()[Symbol.asyncIterator]().next();
    expect(read).toEqual(whole);
    spoil(read);

    expect(await ledger.takeUndelivered(1, 0)).toEqual([whole]);
    expect(await ledger.totals("caller")).toMatchObject([{ key: "me", charge: "0.1" }]);
  });

  it("is the hold that was made, whatever becomes of its object", async () => {
    const ledger = createMemoryLedger();
    const hold = { ...holdOf("a") };
    await ledger.hold(hold);
    Object.assign(hold, { amount: "9", caller: "other" });
    await ledger.release("a");

    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    expect(await ledger.balance("other")).toEqual({ settled: "0", held: "0" });
  });
});

describe("an amount that is not a decimal", () => {
  it("is refused by a memory ledger, and changes nothing", async () => {
    const ledger = createMemoryLedger();
    await ledger.hold(holdOf("a"));

    const refused = /must be null or a decimal/;
    await expect(ledger.hold(holdOf("b", { amount: "free" }))).rejects.toThrow(refused);
    await expect(ledger.hold(holdOf("b", { budget: "much" }))).rejects.toThrow(refused);
    await expect(ledger.settle(recordOf("a", { charge: "NaN" }))).rejects.toThrow(refused);

    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.5" });
    expect(await idsOf(ledger)).toBe("");
  });
});

/** Milliseconds of a round of 500 requests that are held, settled, taken and marked. */
async function measure(ledger: Ledger, callers: number, round: number): Promise<number> {
  const begin = performance.now();
  for (let at = 0; at < 500; at++) {
    const id = `req_${round}_${at}`;
    const caller = `caller_${at % callers}`;
    await ledger.hold(holdOf(id, { caller, budget: "1000000" }));
    await ledger.settle(recordOf(id, { caller }));
    await ledger.markDelivered(await ledger.takeUndelivered(1, 60_000));
  }
  return performance.now() - begin;
}

describe("the cost of a request", () => {
  it("does not grow with callers, open holds, and kept, waiting and leased records", async () => {
    const large = createMemoryLedger({ maxRecords: 100_000 });
    for (let at = 0; at < 40_000; at++) {
      const caller = `caller_${at % 10_000}`;
      await large.settle(recordOf(`old_${at}`, { caller }));
      if (at < 10_000) await large.hold(holdOf(`open_${at}`, { caller }));
    }
    await large.takeUndelivered(8_000, 3_600_000);
    await large.markDelivered(await large.takeUndelivered(8_000, 3_600_000));

    // Measured in turns, and the fastest of each: the machine may be busy for a while.
    const small = createMemoryLedger();
    const ofOne: number[] = [];
    const ofMany: number[] = [];
    for (let round = 0; round < 8; round++) {
      ofOne.push(await measure(small, 1, round));
      ofMany.push(await measure(large, 10_000, round));
    }

    // A scan of all records for each request would make it more than thirty times as slow.
    expect(Math.min(...ofMany)).toBeLessThan(20 * Math.min(...ofOne));
  });
});
