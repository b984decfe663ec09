import { describe, expect, it } from "vitest";
import { timeAfterStart } from "./clock.js";
import { HOLD_MS, holdOf, recordOf, releasedOf, unresolvedOf } from "./entries.js";
import { expectTotals, type OpenLedger, useLedger } from "./open-ledger.js";
import { idsOf, readRecords } from "./read-ledger.js";

/** The money of a request without an outcome does not stay set aside, and its record is not lost. */
export function describeSweeps(open: OpenLedger): void {
  describe("a sweep", () => {
    const bench = useLedger(open);

    it("without holds returns nothing", async () => {
      expect(await bench().ledger.sweep({ onLost: "charge", own: true })).toEqual([]);
    });

    it("ends the holds that expired, and leaves the others", async () => {
      const { ledger, clock } = bench();
      await ledger.hold(holdOf({ id: "req_1", amount: "0.1", ttlMs: 1_000 }));
      await ledger.hold(holdOf({ id: "req_2", amount: "0.2", ttlMs: 1_001 }));

      clock.advance(999);
      expect(await ledger.sweep({ onLost: "release" })).toEqual([]);
      clock.advance(1);
      expect(idsOf(await ledger.sweep({ onLost: "release" }))).toEqual(["req_1"]);
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.2" });
    });

    it.each<["release" | "charge", string | null, string | null, string]>([
      ["release", "0.5", "0", "0"],
      ["charge", "0.5", "0.5", "0.5"],
      ["release", null, null, "0"],
      ["charge", null, null, "0"],
    ])("with onLost %s turns a hold of %s into a charge of %s", async (onLost, amount, charge, settled) => {
      const { ledger, clock } = bench();
      await ledger.hold(holdOf({ id: "req_1", amount, budget: "1" }));
      clock.advance(HOLD_MS);
      const record = unresolvedOf({ id: "req_1", held: amount, charge });

      expect(await ledger.sweep({ onLost })).toStrictEqual([record]);
      expect(await readRecords(ledger)).toStrictEqual([record]);
      expect(await ledger.balance("me")).toEqual({ settled, held: "0" });
    });

    it("ends open holds of its own with `own`", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));

      expect(await ledger.sweep({ onLost: "release", own: false })).toEqual([]);
      expect(idsOf(await ledger.sweep({ onLost: "release", own: true }))).toEqual(["req_1"]);
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    });

    it("finds nothing a second time", async () => {
      const { ledger, clock } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      clock.advance(HOLD_MS);
      await ledger.sweep({ onLost: "charge" });

      expect(await ledger.sweep({ onLost: "charge" })).toEqual([]);
      expect(await ledger.sweep({ onLost: "release", own: true })).toEqual([]);
      expect(await ledger.balance("me")).toEqual({ settled: "0.5", held: "0" });
    });

    it("ends each hold once if two sweeps run in parallel", async () => {
      const { ledger, clock } = bench();
      const ids = Array.from({ length: 20 }, (_, at) => `req_${at}`);
      for (const id of ids) await ledger.hold(holdOf({ id, amount: "0.1" }));
      clock.advance(HOLD_MS);
      const swept = await Promise.all(Array.from({ length: 5 }, () => ledger.sweep({ onLost: "charge" })));

      expect(idsOf(swept.flat()).toSorted()).toEqual(ids.toSorted());
      expect(await ledger.balance("me")).toEqual({ settled: "2", held: "0" });
    });

    it("returns records in the order of their time, then id", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "b", time: timeAfterStart(2) }));
      await ledger.hold(holdOf({ id: "c", time: timeAfterStart(1) }));
      await ledger.hold(holdOf({ id: "a", time: timeAfterStart(2) }));

      expect(idsOf(await ledger.sweep({ onLost: "release", own: true }))).toEqual(["c", "a", "b"]);
    });

    it("does not change settled or released requests", async () => {
      const { ledger, clock } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      await ledger.hold(holdOf({ id: "req_2" }));
      await ledger.settle(recordOf({ id: "req_1" }));
      await ledger.release("req_2");
      clock.advance(HOLD_MS);

      expect(await ledger.sweep({ onLost: "charge", own: true })).toEqual([]);
      expect(await readRecords(ledger)).toEqual([recordOf({ id: "req_1" })]);
    });

    it("is necessary to end an expired hold", async () => {
      const { ledger, clock } = bench();
      await ledger.hold(holdOf({ id: "req_1", amount: "1", budget: "1" }));
      clock.advance(HOLD_MS);

      expect(await ledger.hold(holdOf({ id: "req_2", amount: "0.1", budget: "1" }))).toMatchObject({
        ok: false,
      });
      await ledger.settle(recordOf({ id: "req_1" }));
      expect(await readRecords(ledger)).toEqual([recordOf({ id: "req_1" })]);
    });
  });

  describe("after a sweep", () => {
    const bench = useLedger(open);

    it.each(["release", "charge"] as const)(
      "with onLost %s a late settlement replaces the unresolved record, and is marked",
      async (onLost) => {
        const { ledger } = bench();
        await ledger.hold(holdOf({ id: "req_1" }));
        await ledger.sweep({ onLost, own: true });
        expect(await ledger.settle(recordOf({ id: "req_1", charge: "0.3" }))).toEqual({ isLate: true });

        expect(await readRecords(ledger)).toStrictEqual([
          recordOf({ id: "req_1", charge: "0.3", late: true }),
        ]);
        expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
        await expectTotals(ledger, "caller", [
          { key: "me", requests: 1, images: 1, charge: "0.3", unresolved: 0 },
        ]);
      },
    );

    it("a budget can be exceeded by the charge of a late settlement, and by no more", async () => {
      const { ledger } = bench();
      const ofBudget = { amount: "1", budget: "1" };
      await ledger.hold(holdOf({ id: "req_1", ...ofBudget }));
      await ledger.sweep({ onLost: "release", own: true });
      expect(await ledger.hold(holdOf({ id: "req_2", ...ofBudget }))).toEqual({ ok: true });
      expect(await ledger.settle(recordOf({ id: "req_2", charge: "1" }))).toEqual({ isLate: false });
      expect(await ledger.settle(recordOf({ id: "req_1", charge: "1" }))).toEqual({ isLate: true });

      expect(await ledger.balance("me")).toEqual({ settled: "2", held: "0" });
      const marked = (await readRecords(ledger)).filter((record) => "late" in record);
      expect(idsOf(marked)).toEqual(["req_1"]);
    });

    it("a second late settlement changes nothing", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      await ledger.sweep({ onLost: "charge", own: true });
      await ledger.settle(recordOf({ id: "req_1", charge: "0.3" }));
      await ledger.settle(recordOf({ id: "req_1", charge: "0.4" }));

      expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
    });

    it("a late hold changes nothing", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      await ledger.sweep({ onLost: "charge", own: true });

      expect(await ledger.hold(holdOf({ id: "req_1", budget: "0" }))).toEqual({ ok: true });
      expect(await readRecords(ledger)).toEqual([unresolvedOf({ id: "req_1", charge: "0.5" })]);
      expect(await ledger.balance("me")).toEqual({ settled: "0.5", held: "0" });
    });

    it.each<["release" | "charge", string | null, string | null]>([
      ["release", "0.5", "0"],
      ["charge", "0.5", "0"],
      ["charge", null, null],
    ])(
      "with onLost %s a late release of %s replaces the unresolved record by a released one of %s",
      async (onLost, amount, charge) => {
        const { ledger } = bench();
        await ledger.hold(holdOf({ id: "req_1", amount, budget: "1" }));
        await ledger.settle(recordOf({ id: "req_2", charge: "0.3", time: timeAfterStart(1) }));
        await ledger.sweep({ onLost, own: true });
        for (let time = 0; time < 3; time++) await ledger.release("req_1");
        await ledger.release("req_2");

        expect(await readRecords(ledger)).toStrictEqual([
          releasedOf({ id: "req_1", held: amount, charge }),
          recordOf({ id: "req_2", charge: "0.3", time: timeAfterStart(1) }),
        ]);
        expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
        await expectTotals(ledger, "channel", [
          { key: "", requests: 1, images: 0, charge: "0", unresolved: 0 },
          { key: "ark-1", requests: 1, images: 1, charge: "0.3", unresolved: 0 },
        ]);
        expect(await ledger.hold(holdOf({ id: "req_1", amount: "9", budget: "0" }))).toEqual({ ok: true });
        expect(await ledger.sweep({ onLost, own: true })).toEqual([]);
        expect(await ledger.hold(holdOf({ id: "req_3", amount: "0.7", budget: "1" }))).toEqual({ ok: true });
      },
    );

    it.each<["released" | "refused"]>([["released"], ["refused"]])(
      "many are %s in parallel, and each removes only its own charge",
      async (end) => {
        const { ledger } = bench();
        const ids = Array.from({ length: 40 }, (_, at) => `req_${at}`);
        for (const [at, id] of ids.entries())
          await ledger.hold(holdOf({ id, caller: `caller_${at % 3}`, amount: "0.1" }));
        await ledger.sweep({ onLost: "charge", own: true });
        const endOne = async (id: string, at: number): Promise<void> => {
          if (end === "released") await ledger.release(id);
          else
            await ledger.settle(
              recordOf({ id, caller: `caller_${at % 3}`, status: 400, images: 0, charge: "0" }),
            );
        };
        await Promise.all([...ids, ...ids].map((id, at) => endOne(id, at % ids.length)));

        for (const caller of ["caller_0", "caller_1", "caller_2"]) {
          expect(await ledger.balance(caller)).toEqual({ settled: "0", held: "0" });
        }
        expect(await readRecords(ledger)).toHaveLength(40);
      },
    );

    it("a settlement replaces the record of a late release, and a later release changes nothing", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      await ledger.sweep({ onLost: "charge", own: true });
      await ledger.release("req_1");
      await ledger.settle(recordOf({ id: "req_1", charge: "0.3" }));
      await ledger.release("req_1");

      expect(await readRecords(ledger)).toStrictEqual([recordOf({ id: "req_1", charge: "0.3", late: true })]);
      expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
    });

    it("a release frees the budget again, and a charge does not", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1", amount: "1", budget: "1" }));
      await ledger.sweep({ onLost: "release", own: true });
      expect(await ledger.hold(holdOf({ id: "req_2", amount: "1", budget: "1" }))).toEqual({ ok: true });
      await ledger.sweep({ onLost: "charge", own: true });

      expect(await ledger.hold(holdOf({ id: "req_3", amount: "0.1", budget: "1" }))).toEqual({
        ok: false,
        balance: { settled: "1", held: "0" },
      });
    });
  });
}
