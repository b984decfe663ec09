import type { MinimalLedger } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { timeAfterStart } from "./clock.js";
import { HOLD_MS, holdOf, itemizedRecordOf, recordOf, unresolvedOf } from "./entries.js";
import { expectTotals, type OpenLedger, useLedger } from "./open-ledger.js";
import { idsOf, peekUndelivered, readRecords } from "./read-ledger.js";

/** The data of a persistent ledger survives its process. */
export function describeReopening(open: OpenLedger): void {
  describe("a ledger that is closed and opened again", () => {
    const bench = useLedger(open);

    const reopen = async (): Promise<MinimalLedger> => await bench().reopen();

    it("knows its records, balances and totals", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      await ledger.sweep({ onLost: "charge", own: true });
      await ledger.settle(recordOf({ id: "req_2", time: timeAfterStart(1) }));
      const anew = await reopen();

      expect(await readRecords(anew)).toStrictEqual([
        unresolvedOf({ id: "req_1", charge: "0.5" }),
        recordOf({ id: "req_2", time: timeAfterStart(1) }),
      ]);
      expect(await anew.balance("me")).toEqual({ settled: "0.8", held: "0" });
      await expectTotals(anew, "caller", [
        { key: "me", requests: 2, images: 1, charge: "0.8", unresolved: 1 },
      ]);
    });

    it("knows every line of a charge by dimension", async () => {
      await bench().ledger.settle(itemizedRecordOf({ id: "req_1" }));
      expect(await readRecords(await reopen())).toStrictEqual([itemizedRecordOf({ id: "req_1" })]);
    });

    it("knows which records were delivered", async () => {
      const { ledger } = bench();
      await ledger.settle(recordOf({ id: "req_1" }));
      await ledger.markDelivered(await ledger.takeUndelivered(1, 1_000));
      await ledger.settle(recordOf({ id: "req_2" }));

      expect(idsOf(await peekUndelivered(await reopen()))).toEqual(["req_2"]);
    });

    it("still counts charges and holds for the budgets", async () => {
      const { ledger } = bench();
      await ledger.settle(recordOf({ id: "req_1", charge: "0.4" }));
      await ledger.hold(holdOf({ id: "req_2", amount: "0.5", budget: "1" }));
      const anew = await reopen();

      expect(await anew.hold(holdOf({ id: "req_3", amount: "0.2", budget: "1" }))).toEqual({
        ok: false,
        balance: { settled: "0.4", held: "0.5" },
      });
      expect(await anew.hold(holdOf({ id: "req_3", amount: "0.1", budget: "1" }))).toEqual({ ok: true });
    });

    it("ends an earlier hold once", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      await ledger.hold(holdOf({ id: "req_2" }));
      const anew = await reopen();
      await anew.settle(recordOf({ id: "req_1" }));
      await anew.settle(recordOf({ id: "req_1", charge: "9" }));
      await anew.release("req_2");

      expect(await anew.balance("me")).toEqual({ settled: "0.3", held: "0" });
      expect(await readRecords(anew)).toEqual([recordOf({ id: "req_1" })]);
    });

    it("sweeps earlier holds when they have expired and their process is dead", async () => {
      const { ledger, clock } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      const anew = await reopen();
      clock.advance(HOLD_MS);

      expect(await anew.sweep({ onLost: "charge" })).toEqual([unresolvedOf({ id: "req_1", charge: "0.5" })]);
      expect(await anew.balance("me")).toEqual({ settled: "0.5", held: "0" });
    });

    it("settles a request late that was swept before", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      await ledger.markDelivered(await ledger.sweep({ onLost: "charge", own: true }));
      const anew = await reopen();
      await anew.settle(recordOf({ id: "req_1" }));

      expect(await anew.balance("me")).toEqual({ settled: "0.3", held: "0" });
      expect(idsOf(await peekUndelivered(anew))).toEqual(["req_1"]);
    });

    it("may be opened again many times", async () => {
      await bench().ledger.settle(recordOf({ id: "req_1" }));
      await reopen();
      await reopen();

      expect(await (await reopen()).balance("me")).toEqual({ settled: "0.3", held: "0" });
    });
  });
}
