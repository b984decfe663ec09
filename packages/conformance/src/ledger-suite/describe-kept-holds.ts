import { KEPT_HOLDS, type KeptHold, type KeptHoldStore, type MinimalLedger } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { timeAfterStart } from "./clock.js";
import { HOLD_MS, holdOf, recordOf, unresolvedOf } from "./entries.js";
import { abilityOf, type OpenLedger, useLedger } from "./open-ledger.js";
import { idsOf, readRecords } from "./read-ledger.js";

/** The hold of a request that a provider accepted, and that another process can continue. */
export function describeContinuedHolds(open: OpenLedger): void {
  describe("a hold that can be continued", () => {
    const bench = useLedger(open);

    it("is not lost with its process: the next one takes it and settles it", async () => {
      const { ledger } = bench();
      const kept = holdOf({ id: "req_1" });
      await ledger.hold(kept);
      await ledger.hold(holdOf({ id: "req_2" }));
      await keptHoldsOf(ledger).keepUpstream("req_1", "first");
      await keptHoldsOf(ledger).keepUpstream("req_1", "second");
      expect(await take(ledger)).toEqual([]);
      expect(await endProcess(ledger)).toEqual(["req_2"]);

      expect(await ledger.balance("me")).toEqual({ settled: "0.5", held: "0.5" });
      expect(await take(ledger)).toEqual([{ hold: kept, upstream: "second" }]);
      expect(await take(ledger)).toEqual([]);
      await ledger.settle(recordOf({ id: "req_1" }));
      expect(await ledger.balance("me")).toEqual({ settled: "0.8", held: "0" });
      expect(await endProcess(ledger)).toEqual([]);
    });

    it("can be continued again if the next process dies too", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      await keptHoldsOf(ledger).keepUpstream("req_1", "kept");
      for (let death = 0; death < 3; death++) {
        expect(await endProcess(ledger)).toEqual([]);
        expect(await take(ledger)).toMatchObject([{ upstream: "kept" }]);
      }
      await keptHoldsOf(ledger).keepUpstream("req_1", "more");
      await endProcess(ledger);
      expect(await take(ledger)).toMatchObject([{ upstream: "more" }]);
    });

    it("is lost when its time is over, and lasts longer from when it was taken", async () => {
      const { ledger, clock } = bench();
      for (const id of ["req_1", "req_2"]) {
        await ledger.hold(holdOf({ id }));
        await keptHoldsOf(ledger).keepUpstream(id, "kept");
      }
      await endProcess(ledger);
      clock.advance(HOLD_MS - 1);
      expect(await take(ledger, 1)).toHaveLength(1);
      clock.advance(1);
      const lost = await ledger.sweep({ onLost: "charge" });

      expect(lost).toEqual([unresolvedOf({ id: "req_2", charge: "0.5" })]);
      clock.advance(HOLD_MS);
      expect(await ledger.sweep({ onLost: "charge" })).toHaveLength(1);
      expect(await take(ledger)).toEqual([]);
      expect(await readRecords(ledger)).toHaveLength(2);
    });

    it("is taken in the order of arrival, at most so many at once", async () => {
      const { ledger } = bench();
      for (const at of [1, 2, 3]) {
        await ledger.hold(holdOf({ id: `req_${at}`, time: timeAfterStart(at) }));
        await keptHoldsOf(ledger).keepUpstream(`req_${at}`, "kept");
      }
      await endProcess(ledger);

      expect((await take(ledger, 2)).map(({ hold }) => hold.id)).toEqual(["req_1", "req_2"]);
      expect((await take(ledger, 2)).map(({ hold }) => hold.id)).toEqual(["req_3"]);
    });

    it("keeps nothing for a hold that has ended or does not exist", async () => {
      const { ledger } = bench();
      for (const id of ["req_1", "req_2", "req_3"]) await ledger.hold(holdOf({ id }));
      await ledger.settle(recordOf({ id: "req_1" }));
      await ledger.release("req_2");
      await ledger.sweep({ onLost: "charge", own: true });
      for (const id of ["req_1", "req_2", "req_3", "unknown", "a\0b"]) {
        await keptHoldsOf(ledger).keepUpstream(id, "kept");
      }

      await endProcess(ledger);
      expect(await take(ledger)).toEqual([]);
    });

    it.each([
      ["a NUL", "a\0b"],
      ["an unpaired surrogate", "\ud800"],
      ["more than 1 MiB", "x".repeat(1024 * 1024 + 1)],
    ])("does not keep %s", async (_name, upstream) => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      await expect(keptHoldsOf(ledger).keepUpstream("req_1", upstream)).rejects.toThrow(RangeError);
    });
  });
}

/** The same, with processes that share the store. */
export function describeSharedKeptHolds(open: OpenLedger): void {
  describe("a hold that processes can continue", () => {
    const bench = useLedger(open);

    it("belongs to one process at a time", async () => {
      const { ledger, join } = bench();
      const other = await join();
      await ledger.hold(holdOf({ id: "req_1" }));
      await keptHoldsOf(other).keepUpstream("req_1", "not its own");
      await keptHoldsOf(ledger).keepUpstream("req_1", "kept");
      expect(await keptHoldsOf(other).takeKept({ limit: 9, ttlMs: HOLD_MS })).toEqual([]);
      await ledger.sweep({ onLost: "charge", own: true });
      const taken = await Promise.all(
        [ledger, other].map(async (one) => await keptHoldsOf(one).takeKept({ limit: 9, ttlMs: HOLD_MS })),
      );

      expect(taken.flat()).toMatchObject([{ upstream: "kept" }]);
      // Nothing of the process that has it is lost if the other one ends.
      await (taken[0]?.length === 1 ? other : ledger).sweep({ onLost: "charge", own: true });
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.5" });
    });
  });
}

/** The same, after the death of a process, which is known when its lease is over. */
export function describeReopenedKeptHolds(open: OpenLedger): void {
  describe("a hold that can be continued after its process", () => {
    const bench = useLedger(open);

    it("is taken by the next process", async () => {
      const { ledger, reopen } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      await keptHoldsOf(ledger).keepUpstream("req_1", "kept");
      const next = await reopen();
      expect(await next.sweep({ onLost: "charge" })).toEqual([]);

      const taken = await keptHoldsOf(next).takeKept({ limit: 9, ttlMs: HOLD_MS });
      expect(taken).toEqual([{ hold: holdOf({ id: "req_1" }), upstream: "kept" }]);
    });
  });
}

const keptHoldsOf = (ledger: MinimalLedger): KeptHoldStore => abilityOf(ledger, KEPT_HOLDS);

async function take(ledger: MinimalLedger, limit = 10): Promise<readonly KeptHold[]> {
  return await keptHoldsOf(ledger).takeKept({ limit, ttlMs: HOLD_MS });
}

/** Returns the ids of the lost holds. */
async function endProcess(ledger: MinimalLedger): Promise<string[]> {
  return idsOf(await ledger.sweep({ onLost: "charge", own: true }));
}
