import { describe, expect, it } from "vitest";
import { holdOf, recordOf } from "./entries.js";
import { type OpenLedger, useLedger } from "./open-ledger.js";

const TINY = `0.${"0".repeat(29)}1`;

/** A caller never exceeds its budget, exact to the last decimal place. */
export function describeBudgets(open: OpenLedger): void {
  describe("a budget", () => {
    const bench = useLedger(open);

    it.each<[string, string | null, string, string | null, string | undefined, boolean]>([
      ["settled and held and the amount may reach it", "0.3", "0.2", "0.5", "1", true],
      ["and not pass it by a last place", "0.3", "0.2", "0.500000000000000001", "1", false],
      ["however small the place", "0.3", "0.2", "0.5", `0.${"9".repeat(30)}`, false],
      ["floats would say otherwise: 0.1 + 0.2 is 0.3", "0.1", "0.1", "0.1", "0.3", true],
      [
        "floats would be wrong: 2^53 + 1 is more than 2^53",
        "9007199254740992",
        "0",
        "1",
        "9007199254740992",
        false,
      ],
      [
        "amounts of 30 places add up",
        "0",
        `0.${"3".repeat(30)}`,
        `0.${"6".repeat(30)}`,
        `0.${"9".repeat(30)}`,
        true,
      ],
      [
        "amounts of 30 places add up exactly",
        TINY,
        `0.${"3".repeat(30)}`,
        `0.${"6".repeat(30)}`,
        `0.${"9".repeat(30)}`,
        false,
      ],
      ["numbers are compared, not texts: 10 is more than 9", "0", "0", "10", "9", false],
      ["numbers are compared, not texts: 9 is less than 10", "0", "0", "9", "10", true],
      ["zeros at the end mean nothing", "0", "0", "1.50", "1.5", true],
      ["of 0 lets nothing pass", "0", "0", "0.000001", "0", false],
      ["of 0 lets an amount of 0 pass", "0", "0", "0", "0", true],
      ["counts no amount as 0", "0.3", "0.2", null, "0.5", true],
      ["counts no charge as 0", null, "0.2", "0.3", "0.5", true],
      ["that is spent already lets not even 0 pass", "2", "0", "0", "1", false],
      ["that is absent bounds nothing", "5", "5", `1${"0".repeat(29)}`, undefined, true],
    ])("%s (%s settled, %s held, %s wanted of %s)", async (_what, charge, held, amount, budget, ok) => {
      const { ledger } = bench();
      await ledger.settle(recordOf({ id: "settled", charge }));
      await ledger.hold(holdOf({ id: "held", amount: held }));
      const before = await ledger.balance("me");

      const result = await ledger.hold(holdOf({ id: "req_1", amount, budget }));

      expect(result).toEqual(ok ? { ok } : { ok, balance: before });
    });

    it("that refuses a hold leaves nothing behind", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1", amount: "0.6", budget: "1" }));

      expect(await ledger.hold(holdOf({ id: "req_2", amount: "0.6", budget: "1" }))).toEqual({
        ok: false,
        balance: { settled: "0", held: "0.6" },
      });
      await ledger.release("req_2");
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.6" });
      expect(await ledger.sweep({ onLost: "charge", own: true })).toHaveLength(1);
    });

    it("is checked again: a refused hold succeeds when there is room", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1", amount: "0.6", budget: "1" }));
      await ledger.hold(holdOf({ id: "req_2", amount: "0.6", budget: "1" }));
      await ledger.release("req_1");

      expect(await ledger.hold(holdOf({ id: "req_2", amount: "0.6", budget: "1" }))).toEqual({ ok: true });
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.6" });
    });

    it("is separate for each caller", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1", caller: "me", amount: "1", budget: "1" }));

      expect(await ledger.hold(holdOf({ id: "req_2", caller: "other", amount: "1", budget: "1" }))).toEqual({
        ok: true,
      });
      expect(await ledger.balance("other")).toEqual({ settled: "0", held: "1" });
    });

    it("has room again for the difference between a hold and its smaller charge", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1", amount: "1", budget: "1" }));
      await ledger.settle(recordOf({ id: "req_1", charge: "0.4" }));

      expect(await ledger.hold(holdOf({ id: "req_2", amount: "0.6", budget: "1" }))).toEqual({ ok: true });
      expect(await ledger.hold(holdOf({ id: "req_3", amount: "0.1", budget: "1" }))).toMatchObject({
        ok: false,
      });
    });

    it("is never overdrawn by a thousand parallel holds", async () => {
      const { ledger } = bench();
      const results = await Promise.all(
        Array.from(
          { length: 1_000 },
          async (_, at) => await ledger.hold(holdOf({ id: `req_${at}`, amount: "0.07", budget: "1" })),
        ),
      );

      expect(results.filter(({ ok }) => ok)).toHaveLength(14);
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.98" });
    });

    it("is never overdrawn while holds end at the same time", async () => {
      const { ledger } = bench();
      const spend = async (at: number): Promise<boolean> => {
        const id = `req_${at}`;
        const { ok } = await ledger.hold(holdOf({ id, amount: "0.07", budget: "1" }));
        if (ok && at % 2 === 0) await ledger.release(id);
        else if (ok) await ledger.settle(recordOf({ id, charge: "0.07" }));
        return ok && at % 2 === 1;
      };
      const spent = await Promise.all(Array.from({ length: 200 }, (_, at) => spend(at)));

      const settled = spent.filter(Boolean).length;
      expect(settled).toBeLessThanOrEqual(14);
      expect(await ledger.balance("me")).toEqual({ settled: String((settled * 7) / 100), held: "0" });
    });
  });
}
