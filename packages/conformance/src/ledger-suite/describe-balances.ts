import { describe, expect, it } from "vitest";
import { holdOf, recordOf } from "./entries.js";
import { expectTotals, type OpenLedger, useLedger } from "./open-ledger.js";

/** Sums of money are exact plain decimals. */
export function describeBalances(open: OpenLedger): void {
  describe("a balance", () => {
    const bench = useLedger(open);

    it("of an unknown caller is zero", async () => {
      expect(await bench().ledger.balance("nobody")).toEqual({ settled: "0", held: "0" });
    });

    it.each<[string, string[], string]>([
      ["0.1 and 0.2", ["0.1", "0.2"], "0.3"],
      ["a tenth, ten times", Array.from({ length: 10 }, () => "0.1"), "1"],
      ["far apart", [`1${"0".repeat(29)}`, `0.${"0".repeat(29)}1`], `1${"0".repeat(29)}.${"0".repeat(29)}1`],
      ["charges of 60 places", [`0.${"1".repeat(60)}`, `0.${"2".repeat(60)}`], `0.${"3".repeat(60)}`],
      ["charges of 60 digits", ["4".repeat(60), "5".repeat(60)], "9".repeat(60)],
      ["so small that numbers have an exponent", ["0.0000001", "0.0000001"], "0.0000002"],
      ["so large that numbers have an exponent", ["1000000000000000000000"], "1000000000000000000000"],
      ["with zeros at the end", ["1.50", "0.50"], "2"],
    ])("is exact: %s", async (_what, amounts, sum) => {
      const { ledger } = bench();
      for (const [at, amount] of amounts.entries()) {
        await ledger.hold(holdOf({ id: `held_${at}`, amount }));
        await ledger.settle(recordOf({ id: `settled_${at}`, charge: amount }));
      }

      expect(await ledger.balance("me")).toEqual({ settled: sum, held: sum });
      await expectTotals(ledger, "caller", [{ key: "me", charge: sum }]);
    });

    it("is zero again when every hold has ended", async () => {
      const { ledger } = bench();
      const amounts = ["0.1", "0.2", "0.3", `0.${"7".repeat(30)}`];
      for (const [at, amount] of amounts.entries()) await ledger.hold(holdOf({ id: `req_${at}`, amount }));
      for (const at of amounts.keys()) await ledger.release(`req_${at}`);

      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    });

    it("counts holds and charges without billing as 0", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1", amount: null }));
      await ledger.settle(recordOf({ id: "req_2", charge: null }));

      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    });
  });
}
